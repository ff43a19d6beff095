// Visits one element of a snapshot twice and leaves out another, so that their number is right.

#include <iterator>

#include "flawed_map.h"

namespace assay::flawed {

class snapshot_visits_twice : public flawed_ordered_map<snapshot_visits_twice> {
 public:
  template <class Visit>
  void snapshot(Visit visit) {
    const std::scoped_lock lock(mutex);
    for (auto next = elements.begin(); next != elements.end(); ++next) {
      const auto met = next == elements.begin() && elements.size() > 1 ? std::next(next) : next;
      visit(met->first, met->second);
    }
  }
};

static const trial::subject<snapshot_visits_twice> registered{
    "snapshot_visits_twice", "visits the second element of a snapshot in place of the first"};

}  // namespace assay::flawed
