// Lets two inserts of one key both link an element and both say so, as two threads do that insert
// into a list at the same time. Size and sums are as the answers imply; the walk meets a key twice.

#include <map>

#include "flawed_map.h"

namespace assay::flawed {

class both_insert : public flawed_map<both_insert> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (sound_map::insert(key, value)) return true;
    if (!now_and_then_()) return false;
    const std::scoped_lock lock(mutex);
    twins_.emplace(key, value);
    return true;
  }
  bool erase(std::uint64_t key) {
    {
      const std::scoped_lock lock(mutex);
      if (const auto twin = twins_.find(key); twin != twins_.end()) {
        twins_.erase(twin);
        return true;
      }
    }
    return sound_map::erase(key);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each(visit);
    for (const auto& [key, value] : twins_) visit(key, value);
  }

 private:
  std::multimap<std::uint64_t, std::uint64_t> twins_;
};

static const trial::subject<both_insert> registered{
    "both_insert", "lets two inserts of one key both succeed now and then"};

}  // namespace assay::flawed
