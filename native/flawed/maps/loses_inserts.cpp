// Says that a key was inserted, and loses it. The walk finds fewer keys than the answers imply.

#include "flawed_map.h"

namespace assay::flawed {

class loses_inserts : public flawed_map<loses_inserts> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_() && !find(key)) return true;
    return sound_map::insert(key, value);
  }
};

static const trial::subject<loses_inserts> registered{"loses_inserts",
                                                      "loses an insert now and then"};

}  // namespace assay::flawed
