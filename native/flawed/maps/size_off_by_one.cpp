// Counts one element too many.

#include "flawed_map.h"

namespace assay::flawed {

class size_off_by_one : public flawed_ordered_map<size_off_by_one> {
 public:
  std::uint64_t size() { return sound_ordered_map::size() + 1; }
};

static const trial::subject<size_off_by_one> registered{"size_off_by_one",
                                                        "says that it holds one element more"};

}  // namespace assay::flawed
