// Keeps its lock when an erase finds nothing now and then. The next operation waits forever, and
// the trial times out.

#include "flawed_map.h"

namespace assay::flawed {

class deadlocks : public flawed_map<deadlocks> {
 public:
  bool erase(std::uint64_t key) {
    mutex.lock();
    const bool erased = elements.erase(key) != 0;
    if (erased || !now_and_then_()) mutex.unlock();
    return erased;
  }
};

static const trial::subject<deadlocks> registered{"deadlocks", "keeps its lock now and then"};

}  // namespace assay::flawed
