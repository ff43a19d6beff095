#include <absl/container/btree_map.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "assay/trial/subject.h"

class absl_btree_shared_mutex {
 public:
  class handle {
   public:
    explicit handle(absl_btree_shared_mutex& map) : map_(map) {}

    bool insert(std::uint64_t key, std::uint64_t value) {
      const std::scoped_lock lock(map_.mutex_);
      return map_.map_.emplace(key, value).second;
    }
    bool erase(std::uint64_t key) {
      const std::scoped_lock lock(map_.mutex_);
      return map_.map_.erase(key) != 0;
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const std::shared_lock lock(map_.mutex_);
      const auto found = map_.map_.find(key);
      return found == map_.map_.end() ? std::nullopt : std::optional(found->second);
    }

   private:
    absl_btree_shared_mutex& map_;
  };

  handle attach() { return handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  std::shared_mutex mutex_;
  absl::btree_map<std::uint64_t, std::uint64_t> map_;
};

static const assay::trial::subject<absl_btree_shared_mutex> registered{
    "absl_btree_shared_mutex", "absl::btree_map behind one std::shared_mutex"};
