// Links a key into the map twice, as two threads do that insert into a list without looking again.
// The walk meets more keys than the answers imply.

#include <utility>
#include <vector>

#include "flawed_map.h"

namespace assay::flawed {

class inserts_twice : public flawed_map<inserts_twice> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const bool inserted = sound_map::insert(key, value);
    if (inserted && now_and_then_()) {
      const std::scoped_lock lock(mutex);
      twins_.emplace_back(key, value);
    }
    return inserted;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each(visit);
    for (const auto& [key, value] : twins_) visit(key, value);
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> twins_;
};

static const trial::subject<inserts_twice> registered{"inserts_twice",
                                                      "inserts a key twice now and then"};

}  // namespace assay::flawed
