#include "assay/workload/histogram.h"

#include <algorithm>
#include <cmath>

namespace assay::workload {
namespace {

// A strip that has `mass` of the whole.
hat flat(std::uint64_t first, std::uint64_t width, double mass) {
  return {first, width, std::log(mass) - std::log(static_cast<double>(width))};
}

}  // namespace

std::uint64_t hot_keys(double percent, std::uint64_t range) {
  const double keys = std::round(percent / 100 * static_cast<double>(range));
  return std::clamp(static_cast<std::uint64_t>(keys), std::uint64_t{1}, range);
}

std::vector<hat> hot_set(double operations_percent, double keys_percent, std::uint64_t range) {
  const std::uint64_t hot = hot_keys(keys_percent, range);
  if (hot == range) return {flat(0, range, 100)};
  return {flat(0, hot, operations_percent), flat(hot, range - hot, 100 - operations_percent)};
}

std::vector<hat> empirical(std::span<const double> weights, std::uint64_t range) {
  __extension__ using uint128 = unsigned __int128;
  const auto start_of = [&](std::size_t part) {
    return static_cast<std::uint64_t>(uint128{part} * range / weights.size());
  };
  // Weights near the largest double would add to infinity.
  const double largest = *std::ranges::max_element(weights);
  std::vector<hat> hats;
  double mass = 0;
  for (std::size_t part = 0; part < weights.size(); ++part) {
    mass += weights[part] / largest;
    const std::uint64_t first = start_of(part);
    const std::uint64_t end = start_of(part + 1);
    if (end == first) continue;  // the next part begins in the same key
    hats.push_back(flat(first, end - first, mass));
    mass = 0;
  }
  return hats;
}

}  // namespace assay::workload
