// Refuses to hold more than a few keys. All of its answers are true, but the prefill does not
// arrive at the size that was asked for, so that the measured map would not be the intended one.

#include "flawed_map.h"

namespace assay::flawed {

class never_fills : public flawed_map<never_fills> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    return elements.size() < 4 && elements.emplace(key, value).second;
  }
};

static const trial::subject<never_fills> registered{"never_fills", "holds at most four keys"};

}  // namespace assay::flawed
