// A difference that no experiment may miss: std_map_mutex with all that it does done twice.

#include <map>
#include <mutex>
#include <optional>

#include "assay/maps/concept.h"
#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"

// Two trees behind one mutex. Each operation is done in the first and then, with the mutex taken
// anew, in the second: twice the searches, allocations and acquisitions of the same mutex. The
// first alone answers and is walked through, so that the contents are right whatever order
// concurrent operations have in the second.
template <class K, class V>
class std_map_mutex_twice {
  using tree = std::map<K, V>;

  template <class Operate>
  auto twice(Operate operate) {
    const auto locked = [&](tree& map) {
      const std::scoped_lock guard(mutex_);
      return operate(map);
    };
    auto answer = locked(first_);
    const auto discarded = locked(second_);
    asm volatile("" ::"m"(discarded));  // or the compiler might leave the second search out
    return answer;
  }

 public:
  bool insert(assay::parameter<K> key, assay::parameter<V> value) {
    return twice([&](tree& map) { return map.emplace(key, value).second; });
  }
  bool erase(assay::parameter<K> key) {
    return twice([&](tree& map) { return map.erase(key) != 0; });
  }
  [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
    return twice([&](tree& map) {
      const auto found = map.find(key);
      return found == map.end() ? std::nullopt : std::optional(found->second);
    });
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : first_) visit(key, value);
  }

 private:
  std::mutex mutex_;
  tree first_;
  tree second_;
};

static const assay::subject::map_template<std_map_mutex_twice> registered{
    "std_map_mutex_twice",
    "std_map_mutex doing every operation twice, in two trees behind one std::mutex", "at once"};
