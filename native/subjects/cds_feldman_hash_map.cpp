#include <cds/container/feldman_hashmap_hp.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "cds_map.h"

// libcds allocates a node's array as one block, but frees it as if it were the node's header alone,
// which a global operator delete that trusts the size would not survive.
template <class T>
struct unsized_allocator {
  using value_type = T;

  unsized_allocator() = default;
  template <class U>
  explicit unsized_allocator(const unsized_allocator<U>&) {}

  T* allocate(std::size_t n, const void* = nullptr) {
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* block, std::size_t) { ::operator delete(block); }
};

struct feldman_traits : cds::container::feldman_hashmap::traits {
  using node_allocator = unsized_allocator<int>;
};

// A trie over the bits of the key: its hash must be unique, so it is the key itself, libcds's
// default. It takes numbers as keys, then, and no strings.
template <class K, class V>
using feldman = cds_map<cds::container::FeldmanHashMap<cds::gc::HP, K, V, feldman_traits>>;

static const assay::subject::map_template<feldman, std::uint64_t, std::uint32_t> registered{
    "cds_feldman_hash_map",
    "libcds's hash trie after Feldman et al., reclaiming by hazard pointers", "hazard pointers"};
