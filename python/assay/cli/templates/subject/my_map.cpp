// Your own subject: a hash map behind a mutex. Replace it with what you want to measure.
//
// If a thread needs something of its own inside the map (an epoch, hazard pointers), let attach()
// return your own handle that owns it and has insert, erase and find; see assay/maps/concept.h,
// also for range, size, snapshot and iterate, and assay/subject/operations.h for all others that a
// map may have. Other types of keys and values: assay/subject/subject.h.
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "assay/base/point.h"
#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"

class locked_hash_map {
 public:
  // What the map says of itself: all of it may be left out. assay/subject/subject.h has the rest.
  static constexpr bool lock_free = false;  // if true, `assay check` holds it to that
  // For a map that keeps keys or values for itself; nobody will then ask it for them:
  // static constexpr bool takes_any_key = false;  // reserves 0, and keys from 2^63 on
  // static constexpr std::array<std::uint64_t, 1> reserved_values{0};
  // static constexpr unsigned value_bits = 63;  // the top bit of values is the map's

  // Hints: what the map is about to be used for. Without this, the default constructor is called.
  explicit locked_hash_map(const assay::subject::map_hints& hints) {
    entries_.reserve(hints.key_range / 2);
  }

  bool insert(std::uint64_t key, std::uint64_t value) {
    // A mark. `assay check` delays and suspends threads here; what `assay run` measures has no
    // marks. Put one between steps whose order other threads can see, and into loops that wait.
    ASSAY_POINT("my_map_insert");
    const std::scoped_lock lock(mutex_);
    return entries_.try_emplace(key, value).second;
  }
  bool erase(std::uint64_t key) {
    ASSAY_POINT("my_map_erase");
    const std::scoped_lock lock(mutex_);
    return entries_.erase(key) == 1;
  }
  // Inlined, as a call would return its answer through memory: 5 to 7 ns with gcc 12.
  [[gnu::always_inline]] std::optional<std::uint64_t> find(std::uint64_t key) {
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

// The name, what it is, and how it frees what was erased: the audit compares that of subjects.
static const assay::subject::map<locked_hash_map> registered{
    "my_map", "std::unordered_map behind one std::mutex", "at once"};
