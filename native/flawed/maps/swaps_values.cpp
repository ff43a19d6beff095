// Stores two keys' values under each other. Number and sum of the keys are right; the sum over
// pairs of key and value is not, and searches return values that were never stored under their key.

#include <iterator>
#include <utility>

#include "flawed_map.h"

namespace assay::flawed {

class swaps_values : public flawed_map<swaps_values> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    const auto [inserted, is_new] = elements.emplace(key, value);
    if (is_new && now_and_then_() && inserted != elements.begin()) {
      std::swap(inserted->second, std::prev(inserted)->second);
    }
    return is_new;
  }
};

static const trial::subject<swaps_values> registered{"swaps_values",
                                                     "swaps the values of two keys now and then"};

}  // namespace assay::flawed
