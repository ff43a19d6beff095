#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"

template <class K, class V>
class std_priority_queue_mutex {
  using entry = std::pair<K, V>;
  struct heap : std::priority_queue<entry, std::vector<entry>, std::greater<>> {
    [[nodiscard]] const std::vector<entry>& entries() const { return this->c; }
  };

 public:
  void push(K key, V value) {
    const std::scoped_lock guard(mutex_);
    heap_.emplace(key, value);
  }
  [[gnu::always_inline]] std::optional<entry> try_pop() {
    const std::scoped_lock guard(mutex_);
    if (heap_.empty()) return std::nullopt;
    const entry lowest = heap_.top();
    heap_.pop();
    return lowest;
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : heap_.entries()) visit(key, value);
  }

 private:
  std::mutex mutex_;
  heap heap_;
};

static const assay::subject::bag<std_priority_queue_mutex> registered{
    "std_priority_queue_mutex", "std::priority_queue, a binary heap, behind one std::mutex",
    "at once"};
