// Leaves out one element somewhere in the middle of every range that is long.

#include "flawed_map.h"

namespace assay::flawed {

class range_misses_key : public flawed_ordered_map<range_misses_key> {
 public:
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t last, Visit visit) {
    int met = 0;
    sound_ordered_map::range(first, last, [&](auto key, auto value) {
      if (++met != 2000) visit(key, value);
    });
  }
};

static const trial::subject<range_misses_key> registered{"range_misses_key",
                                                         "leaves out the 2,000th key of a range"};

}  // namespace assay::flawed
