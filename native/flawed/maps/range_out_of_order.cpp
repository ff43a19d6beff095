// Visits two neighbours in the wrong order now and then. Each of them is there, and once.

#include <algorithm>
#include <utility>
#include <vector>

#include "flawed_map.h"

namespace assay::flawed {

class range_out_of_order : public flawed_ordered_map<range_out_of_order> {
 public:
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t last, Visit visit) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> met;
    sound_ordered_map::range(first, last,
                             [&](auto key, auto value) { met.emplace_back(key, value); });
    if (met.size() > 1 && now_and_then_()) std::iter_swap(met.begin(), met.begin() + 1);
    for (const auto& [key, value] : met) visit(key, value);
  }
};

static const trial::subject<range_out_of_order> registered{
    "range_out_of_order", "visits two keys of a range in the wrong order now and then"};

}  // namespace assay::flawed
