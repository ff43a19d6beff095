// Zipf's law over the indices 0 to range - 1: P(k) proportional to (k + 1)^-s, for any s >= 0.
//
//     const zipf law(0.99, 1'000'000'000);
//     const strip_table table(law.hats());
//
// It is exact at every exponent, s = 1 and above included, and is set up in microseconds whatever
// the range. docs/guide/distributions.md says how this differs from what others draw by.
//
// Each of the first keys is a strip of its own. The other strips end at about the same multiple of
// where they begin, so that the law falls by about the same share in each.

#ifndef ASSAY_WORKLOAD_ZIPF_H_
#define ASSAY_WORKLOAD_ZIPF_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/workload/strips.h"

namespace assay::workload {

class zipf {
 public:
  // `exponent` >= 0 and finite, `range` from 1 to 2^40.
  zipf(double exponent, std::uint64_t range) : exponent_(exponent), range_(range) {}

  [[nodiscard]] std::vector<hat> hats() const;

  [[nodiscard]] bool keeps(const strip& strip, std::uint64_t index, double v) const {
    const double s = exponent_;
    const double t =
        static_cast<double>(index - strip.first) / static_cast<double>(strip.first + 1);
    // (1 + t)^-s lies below its Taylor polynomials of even degree: another squeeze, from above.
    if (v >= 1 - s * t * (1 - (s + 1) * t / 2)) return false;
    return v < std::exp(-s * std::log1p(t));
  }

 private:
  double exponent_;
  std::uint64_t range_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_ZIPF_H_
