// Makes two errors that cancel each other out: one key becomes greater by one and another smaller
// by one. Number and sum of the keys are right; the sum over pairs of key and value is not.

#include <iterator>

#include "flawed_map.h"

namespace assay::flawed {

class compensating_errors : public flawed_map<compensating_errors> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const bool inserted = sound_map::insert(key, value);
    if (inserted && now_and_then_()) move_two_keys();
    return inserted;
  }

 private:
  void move_two_keys() {
    const std::scoped_lock lock(mutex);
    for (auto low = elements.begin(), high = low; low != elements.end(); low = high) {
      high = std::next(low);
      if (high != elements.end() && high->first - low->first > 2) {
        elements.emplace(low->first + 1, low->second);
        elements.emplace(high->first - 1, high->second);
        elements.erase(low);
        elements.erase(high);
        return;
      }
    }
  }
};

static const trial::subject<compensating_errors> registered{
    "compensating_errors", "moves two keys now and then so that their sum stays right"};

}  // namespace assay::flawed
