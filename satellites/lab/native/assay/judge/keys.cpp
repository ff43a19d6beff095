#include "assay/judge/keys.h"

#include <algorithm>

#include "assay/random/splitmix64.h"
#include "assay/workload/generator.h"

namespace assay::judge {
namespace {

using workload::operation_batch;

void count_cells(const operation_batch& batch, const auto& cell, cell_counts& counts) {
  for (std::size_t i = 0; i < batch.size; ++i)
    ++counts.with_operation[static_cast<std::size_t>(batch.kinds[i])][cell(batch.keys[i])];
  for (std::size_t i = 0; i + 1 < batch.size; i += 2)
    ++counts.with_next[cell(batch.keys[i])][cell(batch.keys[i + 1])];
}

key_statistics examine(workload::generator& next, key_statistics found) {
  std::vector<std::uint32_t> drawn(found.range);
  const bool in_cells = found.range > 10 * cells && found.range % cells == 0;
  if (in_cells) {
    found.by_place.resize(1);
    found.by_remainder.resize(1);
  }
  const std::uint64_t cell_size = found.range / cells;
  operation_batch batch;
  for (std::uint64_t left = found.operations; left > 0; left -= batch.size) {
    next.fill(batch,
              static_cast<std::size_t>(std::min<std::uint64_t>(left, operation_batch::capacity)));
    for (std::size_t i = 0; i < batch.size; ++i) ++drawn[batch.keys[i] - 1];
    if (!in_cells) continue;
    count_cells(batch, [=](std::uint64_t key) { return (key - 1) / cell_size; }, found.by_place[0]);
    count_cells(batch, [](std::uint64_t key) { return (key - 1) % cells; }, found.by_remainder[0]);
  }
  for (const std::uint64_t count : drawn) {
    found.sum_of_squares += count * count;
    found.never_drawn += static_cast<std::uint64_t>(count == 0);
  }
  return found;
}

}  // namespace

std::vector<key_statistics> examine_keys(const random::engine_choice& engine, std::uint64_t seed,
                                         std::uint64_t operations) {
  std::vector<key_statistics> found;
  for (const auto draws : {workload::draws::one, workload::draws::two}) {
    for (const auto bounding : {workload::bounding::multiply, workload::bounding::modulo}) {
      for (const std::uint64_t range : {2U, 10U, 4096U, 20'000U, 1'000'000U}) {
        const workload::key_space space(range, workload::key_layout::dense, 0);
        const workload::options options{
            .engine = engine, .draws = draws, .bounding = bounding, .mix = judged_mix};
        // Each with numbers of its own: one unlucky stretch is not counted twenty times.
        const auto next =
            workload::make_generator(space, options, random::derive_seed(seed, found.size()));
        found.push_back(examine(*next, {draws, bounding, range, operations}));
      }
    }
  }
  return found;
}

}  // namespace assay::judge
