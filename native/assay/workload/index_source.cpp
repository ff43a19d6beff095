#include "assay/workload/index_source.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/workload/bell.h"
#include "assay/workload/check.h"
#include "assay/workload/histogram.h"
#include "assay/workload/latest.h"
#include "assay/workload/scramble.h"
#include "assay/workload/sequential.h"
#include "assay/workload/strip_source.h"
#include "assay/workload/strips.h"
#include "assay/workload/zipf.h"

namespace assay::workload {
namespace {

// The stream of a key space's seed that scrambles; the first two spread sparse keys.
constexpr std::uint64_t scramble_stream = 2;

template <class Law>
std::unique_ptr<index_source> strips_of(const Law& law, const strip_table& table,
                                        std::unique_ptr<random::number_source> numbers,
                                        const std::optional<scramble>& order) {
  return std::make_unique<strip_source<Law>>(law, table, std::move(numbers), order);
}

}  // namespace

std::unique_ptr<index_source> make_index_source(const key_space& space, const options& options,
                                                std::uint64_t seed, thread_place place) {
  const distribution& keys = options.keys;
  const std::uint64_t range = space.range();
  check(keys, range);
  auto numbers = random::make_wide_number_source(options.engine, seed);
  std::optional<scramble> order;
  if (keys.scrambled) order.emplace(range, random::derive_seed(space.seed(), scramble_stream));
  const auto draw_from = [&](const auto& law) {
    return strips_of(law, strip_table(law.hats()), std::move(numbers), order);
  };
  const auto share = [&](double percent) { return percent / 100 * static_cast<double>(range); };

  switch (keys.kind) {
    case distribution_kind::uniform:
      break;
    case distribution_kind::zipf:
      return draw_from(zipf(keys.exponent, range));
    case distribution_kind::hot_set:
      return strips_of(piecewise_constant{},
                       strip_table(hot_set(keys.operations_percent, keys.keys_percent, range)),
                       std::move(numbers), order);
    case distribution_kind::binomial:
      return draw_from(bell(binomial(range - 1, keys.p), range));
    case distribution_kind::exponential:
      return draw_from(bell(exponential(share(keys.mean_percent)), range));
    case distribution_kind::normal:
      return draw_from(
          bell(normal(share(keys.mean_percent), share(keys.deviation_percent), range), range));
    case distribution_kind::sequential:
      return std::make_unique<sequential>(range, place, std::move(numbers));
    case distribution_kind::latest:
      return std::make_unique<latest>(keys.exponent, range, place, std::move(numbers));
    case distribution_kind::empirical:
      return strips_of(piecewise_constant{}, strip_table(empirical(keys.weights, range)),
                       std::move(numbers), order);
  }
  throw std::invalid_argument("distribution: uniform keys are drawn by the generator");
}

}  // namespace assay::workload
