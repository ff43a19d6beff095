// Takes the end of a range as not included. No element visited is wrong, and a range that ends
// beyond the greatest key is complete: only one that ends in a key which is there shows it.

#include "flawed_map.h"

namespace assay::flawed {

class range_without_last : public flawed_ordered_map<range_without_last> {
 public:
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t last, Visit visit) {
    if (first < last) sound_ordered_map::range(first, last - 1, visit);
  }
};

static const trial::subject<range_without_last> registered{
    "range_without_last", "leaves out the last key of every range"};

}  // namespace assay::flawed
