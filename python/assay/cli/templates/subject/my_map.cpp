// A subject of your own: a hash map behind a mutex, for you to replace by what you want to measure.
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "assay/trial/subject.h"

class locked_hash_map {
 public:
  // A thread's access to the map. What a thread must hold inside your map (an epoch, hazard
  // pointers) belongs here; it is given back by the destructor.
  class handle {
   public:
    explicit handle(locked_hash_map& map) : map_(map) {}
    bool insert(std::uint64_t key, std::uint64_t value) {
      const std::scoped_lock lock(map_.mutex_);
      return map_.entries_.try_emplace(key, value).second;
    }
    bool erase(std::uint64_t key) {
      const std::scoped_lock lock(map_.mutex_);
      return map_.entries_.erase(key) == 1;
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const std::scoped_lock lock(map_.mutex_);
      const auto found = map_.entries_.find(key);
      if (found == map_.entries_.end()) return std::nullopt;
      return found->second;
    }

   private:
    locked_hash_map& map_;
  };

  handle attach() { return handle(*this); }

  // Called while no thread is inside the map: the trial compares what it finds with what was
  // inserted.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, value] : entries_) visit(key, value);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> entries_;
};

static const assay::trial::subject<locked_hash_map> registered{
    "my_map", "std::unordered_map behind one std::mutex"};
