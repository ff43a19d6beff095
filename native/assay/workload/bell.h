// Laws with one peak that fall ever faster towards both ends: binomial, normal and exponential.
//
//     const normal law(5e5, 1e5, 1'000'000);      // mean and deviation in keys
//     const strip_table table(hats_of(law, 1'000'000));
//
// Their weights are log-concave, which is all that drawing from strips needs: over a strip on one
// side of the peak the highest weight is at an end of it, and if that falls to r times itself at
// the other end, then on the way there, at a part t of it, to at least r^t >= 1 + t ln r. Weights
// are compared as logarithms of their ratio, so that neither huge ranges nor far tails lose digits.

#ifndef ASSAY_WORKLOAD_BELL_H_
#define ASSAY_WORKLOAD_BELL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/workload/strips.h"

namespace assay::workload {

// P(k) proportional to exp(-k / mean), 0 <= k < range: what an exponentially distributed number of
// that mean, rounded down, is distributed like if it is below the range.
class exponential {
 public:
  explicit exponential(double mean) : mean_(mean) {}

  [[nodiscard]] static std::uint64_t mode() { return 0; }
  [[nodiscard]] double log_ratio(std::uint64_t from, std::uint64_t to) const {
    return (static_cast<double>(from) - static_cast<double>(to)) / mean_;
  }

 private:
  double mean_;
};

// P(k) proportional to the probability that a normally distributed number lies in [k, k + 1),
// 0 <= k < range: what such a number, rounded down, is distributed like if it is in the range.
class normal {
 public:
  // The mean is at most `most_outside` deviations outside the range. Beyond that, all weights equal
  // 0.
  static constexpr double most_outside = 30;
  normal(double mean, double deviation, std::uint64_t range);

  [[nodiscard]] std::uint64_t mode() const { return mode_; }
  [[nodiscard]] double log_ratio(std::uint64_t from, std::uint64_t to) const;

 private:
  double mean_;
  double deviation_;
  std::uint64_t mode_;
};

// P(k) = C(tries, k) p^k (1 - p)^(tries - k), 0 <= k <= tries.
class binomial {
 public:
  binomial(std::uint64_t tries, double p);

  [[nodiscard]] std::uint64_t mode() const { return mode_; }
  [[nodiscard]] double log_ratio(std::uint64_t from, std::uint64_t to) const {
    return log_weight(to) - log_weight(from);
  }

 private:
  [[nodiscard]] double log_weight(std::uint64_t k) const;

  std::uint64_t tries_;
  double p_;
  std::uint64_t mode_;
};

// A law of one of these, with what the table of strips asks of it.
template <class Law>
class bell {
 public:
  bell(const Law& law, std::uint64_t range) : law_(law), range_(range) {}

  // The strips reach to where the weight is e^-45 of the highest. Log-concave weights fall at least
  // as fast from there on, so that all that is left out has a probability below e^-45 < 2^-64. Most
  // strips lie where it is at least e^-5, which is all but 0.7% of an exponential law.
  [[nodiscard]] std::vector<hat> hats() const {
    constexpr std::uint64_t outer = strip_table::most_strips / 8;  // on either side
    constexpr std::uint64_t inner = strip_table::most_strips - 2 * outer;
    const std::uint64_t mode = law_.mode();
    const std::uint64_t from = first_above(-45);
    const std::uint64_t inner_from = first_above(-5);
    const std::uint64_t inner_to = last_above(-5);
    const std::uint64_t to = last_above(-45);
    const auto left = static_cast<std::uint64_t>(static_cast<double>(inner) *
                                                 static_cast<double>(mode - inner_from) /
                                                 static_cast<double>(inner_to - inner_from + 1));
    std::vector<hat> hats;
    divide(hats, from, inner_from, outer);
    divide(hats, inner_from, mode, std::max<std::uint64_t>(left, 1));
    divide(hats, mode, inner_to + 1, inner - std::max<std::uint64_t>(left, 1));
    divide(hats, inner_to + 1, to + 1, outer);
    return hats;
  }

  [[nodiscard]] bool keeps(const strip& strip, std::uint64_t index, double v) const {
    const std::uint64_t highest = index >= law_.mode() ? strip.first : strip.last();
    return v < std::exp(law_.log_ratio(highest, index));
  }

 private:
  // The first index of [0, mode] and the last of [mode, range) whose weight is above e^limit times
  // that of the mode.
  [[nodiscard]] std::uint64_t first_above(double limit) const {
    std::uint64_t low = 0;
    std::uint64_t high = law_.mode();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (law_.log_ratio(law_.mode(), middle) > limit) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  [[nodiscard]] std::uint64_t last_above(double limit) const {
    std::uint64_t low = law_.mode();
    std::uint64_t high = range_ - 1;
    while (low < high) {
      const std::uint64_t middle = low + (high - low + 1) / 2;
      if (law_.log_ratio(law_.mode(), middle) > limit) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // Adds strips of nearly equal width, at most `parts`, of [from, end), all on one side of the
  // mode.
  void divide(std::vector<hat>& hats, std::uint64_t from, std::uint64_t end,
              std::uint64_t parts) const {
    const std::uint64_t count = std::min(end - from, parts);
    for (std::uint64_t i = 0, first = from; i < count; ++i) {
      const std::uint64_t width = (end - first) / (count - i);
      const std::uint64_t last = first + width - 1;
      const bool rising = last < law_.mode();
      const std::uint64_t highest = rising ? last : first;
      const double fallen = -law_.log_ratio(highest, rising ? first : last);
      hats.push_back({first, width, law_.log_ratio(law_.mode(), highest),
                      width == 1 ? 0 : std::max(fallen, 0.0) / static_cast<double>(width - 1),
                      rising});
      first += width;
    }
  }

  Law law_;
  std::uint64_t range_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_BELL_H_
