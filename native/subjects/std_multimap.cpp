#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"
#include "locked_map.h"

// Finds and erases the value of a key that was inserted first.
template <class K, class V, class Lock>
class std_multimap {
 public:
  void insert(K key, V value) {
    const std::scoped_lock guard(lock_);
    entries_.emplace(key, value);
  }
  [[gnu::always_inline]] std::optional<std::pair<K, V>> erase_from(K key) {
    const std::scoped_lock guard(lock_);
    const auto first = entries_.lower_bound(key);
    if (first == entries_.end()) return std::nullopt;
    const std::pair<K, V> taken = *first;
    entries_.erase(first);
    return taken;
  }
  [[gnu::always_inline]] std::optional<V> find(K key) {
    const std::scoped_lock guard(lock_);
    const auto first = entries_.lower_bound(key);
    return first == entries_.end() || first->first != key ? std::nullopt
                                                          : std::optional(first->second);
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : entries_) visit(key, value);
  }

 private:
  Lock lock_;
  std::multimap<K, V> entries_;
};

template <class K, class V>
using under_mutex = std_multimap<K, V, std::mutex>;
static const assay::subject::bag<under_mutex> registered{
    "std_multimap_mutex", "std::multimap behind one std::mutex; every operation is atomic",
    "at once"};

template <class K, class V>
struct unsynchronised : std_multimap<K, V, no_lock> {
  static constexpr unsigned max_threads = 1;
};
static const assay::subject::bag<unsynchronised> registered_unsynchronised{
    "std_multimap_unsynchronised", "std::multimap without any lock, for one thread", "at once"};
