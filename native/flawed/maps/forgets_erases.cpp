// Says that a key was erased, and keeps it. The walk meets more keys than the answers imply.

#include "flawed_map.h"

namespace assay::flawed {

class forgets_erases : public flawed_map<forgets_erases> {
 public:
  bool erase(std::uint64_t key) {
    if (now_and_then_() && find(key)) return true;
    return sound_map::erase(key);
  }
};

static const trial::subject<forgets_erases> registered{"forgets_erases",
                                                       "forgets an erase now and then"};

}  // namespace assay::flawed
