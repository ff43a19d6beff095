// Your own subject: a hash map behind a mutex. Replace it with what you want to measure.
//
// If a thread needs something of its own inside the map (an epoch, hazard pointers), let attach()
// return your own handle that owns it and has insert, erase and find; see assay/maps/concept.h,
// also for range, size, snapshot and iterate, which a map may have besides.
// Other types of keys and values: assay/trial/subject.h.
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "assay/maps/plain_handle.h"
#include "assay/trial/subject.h"

class locked_hash_map {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex_);
    return entries_.try_emplace(key, value).second;
  }
  bool erase(std::uint64_t key) {
    const std::scoped_lock lock(mutex_);
    return entries_.erase(key) == 1;
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }
  auto attach() { return assay::plain_handle(*this); }

  // Called while no thread is inside the map: the trial compares what it finds with what went in.
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
