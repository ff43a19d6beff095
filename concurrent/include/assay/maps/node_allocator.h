// The allocator that bt_map.h and radix_map.h have unless you name another: memory in large pages.
//
//     assay::bt_map<std::uint64_t, double> prices;  // its nodes come from node_arena.h
//
// It has no state. Builds with AddressSanitizer or ThreadSanitizer take all of it from operator
// new, so that the sanitizer finds what is used after it was freed. So build all files of a program
// that use one type of map with the same sanitizer: ASSAY_ABI does not tell them apart.

#ifndef ASSAY_MAPS_NODE_ALLOCATOR_H_
#define ASSAY_MAPS_NODE_ALLOCATOR_H_

#include <cstddef>
#include <memory>

#include "assay/base/abi.h"
#include "assay/base/sanitizers.h"
#include "assay/maps/node_arena.h"

namespace assay::inline ASSAY_ABI {

// Single objects come from the arena, unless they are too large for it; arrays from std::allocator.
// By any thread; throws std::bad_alloc.
template <class T>
class node_allocator {
 public:
  using value_type = T;

  node_allocator() = default;
  template <class Other>
  node_allocator(const node_allocator<Other>& /*other*/) noexcept {}  // NOLINT(*-explicit-*)

  [[nodiscard]] T* allocate(std::size_t objects) {
    if (is_in_arena(objects)) return static_cast<T*>(node_arena::allocate(sizeof(T)));
    return std::allocator<T>().allocate(objects);
  }
  void deallocate(T* memory, std::size_t objects) noexcept {
    if (is_in_arena(objects)) return node_arena::deallocate(memory, sizeof(T));
    std::allocator<T>().deallocate(memory, objects);
  }

  // For who has just freed much: what the thread kept for its next allocations goes back, too.
  static void give_back() noexcept { node_arena::give_back(); }

  friend bool operator==(const node_allocator&, const node_allocator&) = default;

 private:
#if ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER
  static constexpr bool is_in_arena(std::size_t /*objects*/) { return false; }
#else
  static constexpr bool is_in_arena(std::size_t objects) {
    return objects == 1 && sizeof(T) <= node_arena::most_bytes &&
           alignof(T) <= node_arena::most_alignment;
  }
#endif
};

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_NODE_ALLOCATOR_H_
