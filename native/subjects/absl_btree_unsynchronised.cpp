#include <absl/container/btree_map.h>

#include <cstdint>
#include <optional>

#include "assay/trial/subject.h"

class absl_btree_unsynchronised {
  using map_type = absl::btree_map<std::uint64_t, std::uint64_t>;

 public:
  static constexpr unsigned max_threads = 1;

  class handle {
   public:
    explicit handle(map_type& map) : map_(map) {}

    bool insert(std::uint64_t key, std::uint64_t value) { return map_.emplace(key, value).second; }
    bool erase(std::uint64_t key) { return map_.erase(key) != 0; }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const auto found = map_.find(key);
      return found == map_.end() ? std::nullopt : std::optional(found->second);
    }

   private:
    map_type& map_;
  };

  handle attach() { return handle(map_); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  map_type map_;
};

static const assay::trial::subject<absl_btree_unsynchronised> registered{
    "absl_btree_unsynchronised", "absl::btree_map without any lock, for one thread"};
