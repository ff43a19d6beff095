#include <absl/container/btree_map.h>

#include "locked_map.h"

template <class K, class V>
struct absl_btree_unsynchronised : locked_map<absl::btree_map<K, V>, no_lock> {
  static constexpr unsigned max_threads = 1;
};

static const assay::subject::map_template<absl_btree_unsynchronised> registered{
    "absl_btree_unsynchronised", "absl::btree_map without any lock, for one thread", "at once"};
