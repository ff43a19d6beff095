#include "assay/trial/drawing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

#include "assay/random/splitmix64.h"
#include "assay/workload/index_source.h"
#include "assay/workload/key_space.h"
#include "assay/workload/operation_batch.h"

namespace assay::trial {
namespace {

using subject::drawn_numbers;

// Indices below `range`, as many as there is room for.
void fill(std::span<std::uint64_t> indices, const workload::distribution& by, std::uint64_t range,
          std::uint64_t seed) {
  if (by.kind == workload::distribution_kind::uniform) {
    random::splitmix64 next(seed);
    std::ranges::generate(indices, [&] { return next() % range; });  // off by less than 2^-23
    return;
  }
  const workload::key_space space(range, workload::key_layout::dense, seed);
  const auto source = make_index_source(space, {.keys = by}, seed, {});
  std::array<std::uint64_t, workload::operation_batch::capacity> fractions;
  while (!indices.empty()) {
    const std::size_t now = std::min(indices.size(), fractions.size());
    source->fill(indices.first(now), std::span(fractions).first(now));
    indices = indices.subspan(now);
  }
}

}  // namespace

std::shared_ptr<const drawn_numbers> draw(const drawing& asked, std::uint64_t seed,
                                          const std::vector<std::uint64_t>& reserved) {
  constexpr int most_rounds = 100;
  std::array<std::uint64_t, 1U << drawn_numbers::bits> numbers;
  std::span<std::uint64_t> missing = numbers;
  for (int round = 0; round < most_rounds && !missing.empty(); ++round) {
    fill(missing, asked.by, asked.to - asked.from + 1,
         random::derive_seed(seed, static_cast<std::uint64_t>(round)));
    for (std::uint64_t& index : missing) index += asked.from;
    const auto kept = std::ranges::remove_if(missing, [&](std::uint64_t number) {
      return std::ranges::find(reserved, number) != reserved.end();
    });
    missing = missing.last(kept.size());
  }
  if (!missing.empty()) throw std::invalid_argument("hardly any that the map does not reserve");
  return std::make_shared<const drawn_numbers>(numbers);
}

}  // namespace assay::trial
