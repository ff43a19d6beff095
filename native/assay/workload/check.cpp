#include "assay/workload/check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "assay/workload/bell.h"

namespace assay::workload {
namespace {

std::string shown(double number) {
  std::array<char, 32> text;
  return {text.begin(), std::to_chars(text.begin(), text.end(), number).ptr};
}

// `holds` is false also for comparisons with what is not a number.
void require(bool holds, std::string_view member, std::string_view demand, double value) {
  if (holds) return;
  throw std::invalid_argument(std::string(member) + " must be " + std::string(demand) + ", not " +
                              shown(value));
}

void require_exponent(double exponent) {
  require(exponent >= 0 && std::isfinite(exponent), "exponent", "a number of at least 0", exponent);
}

void require_share(std::string_view member, double percent) {
  require(percent > 0 && percent <= 100, member, "above 0 and at most 100", percent);
}

void require_above_0(std::string_view member, double percent) {
  require(percent > 0 && std::isfinite(percent), member, "a number above 0", percent);
}

void check_normal(const distribution& keys) {
  require_above_0("deviation_percent", keys.deviation_percent);
  const double mean = keys.mean_percent;
  require(std::isfinite(mean), "mean_percent", "a number", mean);
  const double outside = std::max({0.0, -mean, mean - 100});
  require(outside <= normal::most_outside * keys.deviation_percent, "mean_percent",
          "from 0 to 100, or at most 30 times the deviation_percent outside", mean);
}

void check_weights(const distribution& keys) {
  for (std::size_t i = 0; i < keys.weights.size(); ++i) {
    const double weight = keys.weights[i];
    require(weight >= 0 && std::isfinite(weight), "weights[" + std::to_string(i) + "]",
            "a number of at least 0", weight);
  }
  if (std::ranges::none_of(keys.weights, [](double weight) { return weight > 0; })) {
    throw std::invalid_argument("at least one of weights must be above 0");
  }
}

}  // namespace

void check(const distribution& keys, std::uint64_t range) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  if (range < 1 || range > most) {
    throw std::invalid_argument("key_range must be from 1 to 2^40, not " + std::to_string(range));
  }
  switch (keys.kind) {
    case distribution_kind::uniform:
    case distribution_kind::sequential:
      return;
    case distribution_kind::zipf:
    case distribution_kind::latest:
      return require_exponent(keys.exponent);
    case distribution_kind::hot_set:
      require_share("operations_percent", keys.operations_percent);
      return require_share("keys_percent", keys.keys_percent);
    case distribution_kind::binomial:
      return require(keys.p >= 0 && keys.p <= 1, "p", "from 0 to 1", keys.p);
    case distribution_kind::exponential:
      return require_above_0("mean_percent", keys.mean_percent);
    case distribution_kind::normal:
      return check_normal(keys);
    case distribution_kind::empirical:
      return check_weights(keys);
  }
}

}  // namespace assay::workload
