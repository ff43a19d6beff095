#include "assay/workload/bell.h"

#include <array>
#include <limits>
#include <numbers>
#include <ranges>

namespace assay::workload {
namespace {

// ln(sinh(a) / a) for small a.
double log_sinhc(double a) { return a * a / 6 * (1 - a * a / 30); }

// The logarithm of n! less Stirling's n ln n - n + ln(2 pi n) / 2 (Loader 2000, "Fast and accurate
// computation of binomial probabilities").
double stirling_error(double n) {
  constexpr double exact_below = 16;
  if (n < exact_below) {
    double factorial = 1;
    for (int i = 2; i <= static_cast<int>(n); ++i) factorial *= i;
    return std::log(factorial) - n * std::log(n) + n - std::log(2 * std::numbers::pi * n) / 2;
  }
  // The next term of the series is below 1e-15 from 16 on.
  constexpr std::array<double, 6> terms{1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                        -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};
  double sum = 0;
  for (const double term : std::views::reverse(terms)) sum = sum / (n * n) + term;
  return sum / n;
}

// x ln(x / m) + m - x, without loss of digits where x is near m (Loader 2000).
double deviance(double x, double m) {
  if (std::abs(x - m) >= 0.1 * (x + m)) return x * std::log(x / m) + m - x;
  const double v = (x - m) / (x + m);
  double sum = (x - m) * v;
  double term = 2 * x * v;
  for (int j = 3;; j += 2) {
    term *= v * v;
    const double next = sum + term / j;
    if (next == sum) return sum;
    sum = next;
  }
}

}  // namespace

normal::normal(double mean, double deviation, std::uint64_t range)
    : mean_(mean),
      deviation_(deviation),
      mode_(static_cast<std::uint64_t>(
          std::clamp(std::floor(mean), 0.0, static_cast<double>(range - 1)))) {}

double normal::log_ratio(std::uint64_t from, std::uint64_t to) const {
  const double h = 1 / deviation_;
  if (h <= 1e-3) {
    // The integral of the density over one key is the density in its middle times
    // sinh(z h / 2) / (z h / 2), up to a relative 1e-12, where differences of the error function
    // would lose digits.
    const double z_from = (static_cast<double>(from) + 0.5 - mean_) * h;
    const double z_to = (static_cast<double>(to) + 0.5 - mean_) * h;
    const double difference = (static_cast<double>(to) - static_cast<double>(from)) * h;
    return -difference * (z_from + z_to) / 2 + log_sinhc(z_to * h / 2) - log_sinhc(z_from * h / 2);
  }
  const auto log_weight = [&](std::uint64_t k) {
    double low = (static_cast<double>(k) - mean_) / deviation_;
    double high = (static_cast<double>(k) + 1 - mean_) / deviation_;
    if (low + high < 0) {  // the law is symmetric, and small probabilities have all their digits
      std::swap(low, high);
      low = -low;
      high = -high;
    }
    return std::log(std::erfc(low / std::numbers::sqrt2) - std::erfc(high / std::numbers::sqrt2));
  };
  return log_weight(to) - log_weight(from);
}

binomial::binomial(std::uint64_t tries, double p)
    : tries_(tries),
      p_(p),
      mode_(std::min(tries, static_cast<std::uint64_t>(static_cast<double>(tries + 1) * p))) {}

double binomial::log_weight(std::uint64_t k) const {
  const auto n = static_cast<double>(tries_);
  const auto successes = static_cast<double>(k);
  const auto failures = static_cast<double>(tries_ - k);
  // log1p(-1) and log(0) are the -infinity that they should be, but 0 times that is not 0.
  if (k == 0) return tries_ == 0 ? 0 : n * std::log1p(-p_);
  if (k == tries_) return n * std::log(p_);
  if (p_ == 0 || p_ == 1) return -std::numeric_limits<double>::infinity();
  return stirling_error(n) - stirling_error(successes) - stirling_error(failures) -
         deviance(successes, n * p_) - deviance(failures, n * (1 - p_)) +
         std::log(n / (2 * std::numbers::pi * successes * failures)) / 2;
}

}  // namespace assay::workload
