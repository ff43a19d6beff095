// Its elements form a circle. The walk is given up after more elements than there are keys.

#include "flawed_map.h"

namespace assay::flawed {

class endless_walk : public flawed_map<endless_walk> {
 public:
  template <class Visit>
  void for_each(Visit&& visit) {
    while (!elements.empty()) sound_map::for_each(visit);
  }
};

static const trial::subject<endless_walk> registered{"endless_walk",
                                                     "walks through its elements in a circle"};

}  // namespace assay::flawed
