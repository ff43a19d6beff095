#include "assay/workload/strips.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

namespace assay::workload {
namespace {

// A line a little below the one that `hat` promises, so that no rounding lets it cross the law.
strip squeezed(const hat& hat) {
  constexpr double whole = 0x1p64;
  constexpr double margin = 1e-9;
  if (hat.width == 1 || hat.fall == 0) return {hat.first, hat.width, UINT64_MAX, 0};
  const double fall = hat.fall * (1 + margin);
  const double fallen = fall * static_cast<double>(hat.width - 1);
  // A line that reaches the ground before the end of the strip is not a line of unsigned numbers.
  if (!(fallen < 1 - 1e-6)) return {hat.first, hat.width, 0, 0};
  if (!hat.rising) {
    return {hat.first, hat.width, UINT64_MAX, static_cast<std::uint64_t>(std::ceil(fall * whole))};
  }
  return {hat.first, hat.width, static_cast<std::uint64_t>((1 - fallen) * (1 - margin) * whole),
          -static_cast<std::uint64_t>(fall * whole)};
}

// Probabilities as multiples of 2^-63 that add to exactly 1, so that Vose's set-up is exact.
std::vector<std::uint64_t> parts_of(std::span<const hat> hats, std::size_t columns) {
  constexpr std::uint64_t whole = std::uint64_t{1} << 63;
  const auto log_mass = [](const hat& hat) {
    return hat.log_height + std::log(static_cast<double>(hat.width));
  };
  double largest = -std::numeric_limits<double>::infinity();
  for (const auto& each : hats) largest = std::max(largest, log_mass(each));
  if (!std::isfinite(largest)) {
    throw std::invalid_argument("distribution: no key has a weight above 0");
  }
  std::vector<double> masses;
  masses.reserve(hats.size());
  double sum = 0;
  for (const auto& each : hats) {
    masses.push_back(static_cast<double>(each.width) * std::exp(each.log_height - largest));
    sum += masses.back();
  }
  std::vector<std::uint64_t> parts(columns);
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    parts[i] = static_cast<std::uint64_t>(masses[i] / sum * static_cast<double>(whole));
    given += parts[i];
  }
  // What rounding left, or took too much, in either case far less than the largest part.
  *std::ranges::max_element(parts) += whole - given;
  return parts;
}

}  // namespace

strip_table::strip_table(std::span<const hat> hats) {
  const std::size_t count = std::bit_ceil(std::max<std::size_t>(hats.size(), 2));
  shift_ = 64 - std::countr_zero(count);
  auto parts = parts_of(hats, count);

  strips_.reserve(count);
  for (const auto& each : hats) strips_.push_back(squeezed(each));
  strips_.resize(count, {0, 1, UINT64_MAX, 0});  // of probability 0

  // Each column is filled up to its capacity with a part that is too small and some of one that is
  // large enough. A word has `shift_` bits for the first share: the capacity itself, which needs
  // one more, is written as a share of 0 of another strip that is the same.
  const std::uint64_t capacity = std::uint64_t{1} << (shift_ - 1);
  columns_.resize(count);
  std::vector<std::size_t> small;
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < count; ++i) (parts[i] < capacity ? small : large).push_back(i);
  while (!small.empty()) {
    const std::size_t lesser = small.back();
    small.pop_back();
    const std::size_t giver = large.back();
    columns_[lesser] = std::uint64_t{giver} << shift_ | parts[lesser] << 1;
    parts[giver] -= capacity - parts[lesser];
    if (parts[giver] < capacity) {
      large.pop_back();
      small.push_back(giver);
    }
  }
  for (const std::size_t full : large) columns_[full] = std::uint64_t{full} << shift_;
}

}  // namespace assay::workload
