#include <tbb/concurrent_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "assay/maps/plain_handle.h"
#include "assay/trial/subject.h"

class tbb_hash_map {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) { return map_.insert({key, value}); }
  bool erase(std::uint64_t key) { return map_.erase(key); }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    map_type::const_accessor found;
    return map_.find(found, key) ? std::optional(found->second) : std::nullopt;
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  // The process's allocator, as every other subject; tbb_allocator would take tbbmalloc if it finds
  // it.
  using element = std::pair<const std::uint64_t, std::uint64_t>;
  using map_type =
      tbb::concurrent_hash_map<std::uint64_t, std::uint64_t, tbb::tbb_hash_compare<std::uint64_t>,
                               std::allocator<element>>;
  map_type map_;
};

static const assay::trial::subject<tbb_hash_map> registered{
    "tbb_hash_map",
    "oneTBB's concurrent_hash_map: chained buckets with a lock for each bucket and element"};
