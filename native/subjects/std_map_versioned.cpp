// A map on which range queries starve.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "assay/maps/concept.h"
#include "assay/maps/plain_handle.h"
#include "assay/probe/probe.h"
#include "assay/subject/subject.h"

static assay::probe::counter restarts{"restarts", "visits of several elements that began again"};

// std::map behind a mutex, with a number that every successful update makes greater.
//
// A range query copies nothing and keeps nobody out for long: it takes the mutex for a few dozen
// elements at a time, and begins again if the number has changed meanwhile. It thus visits what
// the map held at one instant, when it ends. While one thread after another updates the map it
// does not end, which is difficult to see where every thread does a mix: then all threads sooner or
// later have a range query to do, none updates, and all of them succeed together (Kharal and
// Brown, section 7.1). Sizes and snapshots are found out in the same way.
//
// Insert, erase and find are blocking, and the mutex is never held for longer than an operation or
// a piece of 32 elements takes. Range, size and snapshot end once no update succeeds during one
// attempt, and have no bound on their time otherwise. Iterate never begins again: it ends when it
// has passed the greatest key.
template <class K, class V>
class std_map_versioned {
  using tree = std::map<K, V>;
  static constexpr int elements_at_a_time = 32;

 public:
  static constexpr bool ordered = true;

  bool insert(assay::parameter<K> key, assay::parameter<V> value) {
    const std::unique_lock guard = lock_between_pieces();
    return changed(map_.emplace(key, value).second);
  }
  bool erase(assay::parameter<K> key) {
    const std::unique_lock guard = lock_between_pieces();
    return changed(map_.erase(key) != 0);
  }
  [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
    const std::scoped_lock guard(mutex_);
    const auto found = map_.find(key);
    return found == map_.end() ? std::nullopt : std::optional(found->second);
  }

  template <class Visit>
  void range(const K& first, const K& last, Visit visit) {
    visit_unchanged([&] { return map_.lower_bound(first); },
                    [&](const K& key) { return last < key; }, visit);
  }
  template <class Visit>
  void snapshot(Visit visit) {
    visit_unchanged([&] { return map_.begin(); }, [](const K&) { return false; }, visit);
  }
  std::uint64_t size() {
    std::uint64_t elements = 0;
    snapshot(counter(elements));
    return elements;
  }

  template <class Visit>
  void iterate(Visit visit) {
    std::optional<K> met;
    for (;;) {
      const std::scoped_lock guard(mutex_);
      auto next = met ? map_.upper_bound(*met) : map_.begin();
      for (int i = 0; i < elements_at_a_time && next != map_.end(); ++i, ++next) {
        visit(next->first, next->second);
        met = next->first;
      }
      if (next == map_.end()) return;
    }
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  class counter {
   public:
    explicit counter(std::uint64_t& elements) : elements_(&elements) {}
    void operator()(const K&, const V&) const { ++*elements_; }
    void begin_again() const { *elements_ = 0; }

   private:
    std::uint64_t* elements_;
  };

  // Tries for the microseconds that a piece takes before it sleeps: the thread that released the
  // mutex would have taken it again, for its next piece, long before the kernel has woken another.
  std::unique_lock<std::mutex> lock_between_pieces() {
    std::unique_lock guard(mutex_, std::try_to_lock);
    for (int i = 0; i < 1000 && !guard.owns_lock(); ++i) guard.try_lock();
    if (!guard.owns_lock()) guard.lock();
    return guard;
  }

  bool changed(bool succeeded) {
    version_ += succeeded;
    return succeeded;
  }

  // Visits the elements from `begin()` to the first whose key is `beyond`, as of one instant.
  template <class Begin, class Beyond, class Visit>
  void visit_unchanged(Begin begin, Beyond beyond, Visit visit) {
    std::unique_lock guard(mutex_);
    for (;; visit.begin_again(), restarts.add()) {
      const std::uint64_t version = version_;
      for (auto next = begin(); version_ == version;) {
        for (int i = 0; i < elements_at_a_time; ++i, ++next) {
          if (next == map_.end() || beyond(next->first)) return;
          visit(next->first, next->second);
        }
        guard.unlock();
        guard.lock();
      }
    }
  }

  std::mutex mutex_;
  tree map_;
  std::uint64_t version_ = 0;  // how many updates succeeded
};

static const assay::subject::map_template<std_map_versioned> registered{
    "std_map_versioned",
    "std::map behind one std::mutex, whose range, size and snapshot are atomic and begin again "
    "after every update, so that they may starve",
    "at once"};
