#include "cds_map.h"
// libcds wants the kind of reclamation included before the set.
#include <cds/container/skip_list_set_rcu.h>

#include <functional>
#include <optional>
#include <utility>

#include "assay/subject/subject.h"

template <class K, class V>
class skip_list_queue {
  using entry = std::pair<K, V>;
  struct traits : cds::container::skip_list::traits {
    using less = std::less<entry>;
  };
  using set = cds::container::SkipListSet<cds_rcu, entry, traits>;

 public:
  class handle {
   public:
    explicit handle(set& entries) : entries_(entries) {}

    void push(K key, V value) { entries_.insert(entry(key, value)); }
    [[gnu::always_inline]] std::optional<entry> try_pop() {
      // It answers nothing, too, where another thread took the one that it wanted.
      do {
        if (auto lowest = entries_.extract_min()) return *lowest;
      } while (!entries_.empty());
      return std::nullopt;
    }

   private:
    cds_thread attached_;
    set& entries_;
  };

  explicit skip_list_queue(const assay::subject::map_hints& hints) : collector_(hints) {}

  handle attach() { return handle(entries_); }

  template <class Visit>
  void for_each(Visit&& visit) {
    const cds_thread attached;
    for (auto each = entries_.begin(); each != entries_.end(); ++each) {
      visit(each->first, each->second);
    }
  }

 private:
  cds_library library_;
  cds_collector<set, cds_rcu> collector_;
  cds_thread attached_;
  set entries_;
};

static const assay::subject::bag<skip_list_queue> registered{
    "cds_skip_list_queue",
    "libcds's lock-free skip list as a queue, of which the first entry is taken, reclaiming by "
    "buffered user-space RCU",
    "RCU"};
