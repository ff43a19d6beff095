#include "assay/workload/zipf.h"

#include <algorithm>

namespace assay::workload {

std::vector<hat> zipf::hats() const {
  constexpr std::uint64_t single = strip_table::most_strips / 4;
  constexpr double wide = strip_table::most_strips - single;
  const double log_ratio = std::log(static_cast<double>(range_) / single) / wide;
  std::vector<hat> hats;
  for (std::uint64_t first = 1, end = 0; first <= range_; first = end) {  // numbered from 1
    end = first + 1;
    if (hats.size() + 1 == strip_table::most_strips) {
      end = range_ + 1;
    } else if (first > single) {
      const auto step = static_cast<double>(hats.size() + 1 - single);
      const double wanted = std::ceil(single * std::exp(log_ratio * step));
      end = std::clamp(static_cast<std::uint64_t>(wanted), end, range_ + 1);
    }
    const auto rank = static_cast<double>(first);
    hats.push_back({first - 1, end - first, -exponent_ * std::log(rank), exponent_ / rank});
  }
  return hats;
}

}  // namespace assay::workload
