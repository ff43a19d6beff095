// Nodes that wait to be freed, in lists that are joined in constant time and never allocate.
//
//     retired_list waiting;
//     if (waiting.full()) waiting.add(*spares.take());
//     const auto push = [&waiting](auto... parts) { waiting.push(parts...); };
//     retired::make(node, std::default_delete<T>(), push);
//     ready.splice(waiting);                     // all of `waiting`, at once
//     ready.pop(spares).destroy();               // the block that this empties becomes a spare
//
//     waiting.keep([](void* node) { return in_use(node); });
//     waiting.free_others(spares);               // all nodes that are not in use
//
// All of it belongs to one thread at a time.

#ifndef ASSAY_RECLAIM_RETIRED_H_
#define ASSAY_RECLAIM_RETIRED_H_

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "assay/base/atomics.h"
#include "assay/reclaim/checks.h"
#include "assay/reclaim/concept.h"

namespace assay::reclaim::inline ASSAY_ABI::detail {

// Whether a deleter is kept in place: others are boxed, which takes memory.
template <class F>
inline constexpr bool fits =
    std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(void*) && alignof(F) <= alignof(void*);

struct retired {
  using word = std::uintptr_t;

  void* node;  // null for a function without a node
  void (*call)(void* node, word deleter);
  word deleter;  // the bytes of one that fits

  // Calls put(node, call, deleter), whose arguments are in registers. Throws std::bad_alloc and
  // what moving the deleter throws, unless it fits, and has then called nothing.
  template <class T, class F, class Put>
  static void make(T* node, F deleter, const Put& put) noexcept(fits<F>) {
    if constexpr (fits<F>) {
      void* const address = const_cast<std::remove_cv_t<T>*>(node);
      detail::keep(address);
      // NOLINTNEXTLINE(misc-const-correctness): it is written where F has state
      word bytes = 0;
      if constexpr (!std::is_empty_v<F>) std::memcpy(&bytes, &deleter, sizeof(F));
      put(address, &call_kept<T, F>, bytes);
    } else {
      auto box = std::make_unique<F>(std::move(deleter));
      make(
          node,
          [boxed = box.release()](T* unlinked) {
            const std::unique_ptr<F> owned(boxed);
            (*owned)(unlinked);
          },
          put);
    }
  }
  void destroy() const { call(node, deleter); }

 private:
  template <class T, class F>
  static void call_kept(void* node, word deleter) {
    alignas(word) std::array<std::byte, sizeof(word)> bytes;
    std::memcpy(bytes.data(), &deleter, sizeof(word));
    (*std::launder(reinterpret_cast<F*>(bytes.data())))(static_cast<T*>(node));
  }
};

// Room for as much as one guard may retire.
struct retired_block {
  retired_block* next = nullptr;
  std::size_t used = 0;
  std::size_t kept = 0;  // how many of them, the first ones, free_others() keeps
  std::array<retired, retires_per_guard> nodes;
};

// Empty blocks, so that retiring a node needs no memory at a time when none may be had.
class spare_blocks {
 public:
  spare_blocks() = default;
  spare_blocks(const spare_blocks&) = delete;
  spare_blocks& operator=(const spare_blocks&) = delete;
  ~spare_blocks() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
  }

  bool empty() const { return first_ == nullptr; }

  // Makes sure that there is one; throws std::bad_alloc.
  void provide() {
    if (empty()) put(new retired_block);
  }
  // One of them, or a new one, or null when there is no memory.
  retired_block* take() noexcept {
    if (empty()) return new (std::nothrow) retired_block;
    --number_;
    retired_block* const taken = std::exchange(first_, first_->next);
    taken->next = nullptr;
    return taken;
  }
  // Keeps an empty block, unless there are enough.
  void put(retired_block* block) noexcept {
    if (number_ == most) {
      delete block;
      return;
    }
    ++number_;
    block->next = std::exchange(first_, block);
  }

 private:
  static constexpr std::size_t most = 4;

  retired_block* first_ = nullptr;
  std::size_t number_ = 0;
};

class retired_list {
 public:
  retired_list() = default;
  retired_list(const retired_list&) = delete;
  retired_list& operator=(const retired_list&) = delete;
  // Frees what still waits.
  ~retired_list() { free_all(); }

  bool empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }

  // Whether the next node needs another block.
  bool full() const { return last_ == nullptr || last_->used == last_->nodes.size(); }
  void add(retired_block& block) {
    (last_ == nullptr ? first_ : last_->next) = &block;
    last_ = &block;
  }
  // The list is not full.
  void push(void* node, void (*call)(void*, retired::word), retired::word deleter) {
    assert(!full());
    retired& added = last_->nodes[last_->used++];
    added.node = node;
    added.call = call;
    added.deleter = deleter;
    ++size_;
  }

  // Takes all nodes of `other`.
  void splice(retired_list& other) {
    if (other.first_ == nullptr) return;
    (last_ == nullptr ? first_ : last_->next) = other.first_;
    last_ = std::exchange(other.last_, nullptr);
    size_ += std::exchange(other.size_, 0);
    other.first_ = nullptr;
  }

  // Takes out one of the nodes that were pushed first. The list is not empty.
  retired pop(spare_blocks& spares) {
    const retired taken = first_->nodes[--first_->used];
    --size_;
    if (first_->used == 0) {
      retired_block* const emptied = std::exchange(first_, first_->next);
      if (first_ == nullptr) last_ = nullptr;
      spares.put(emptied);
    }
    return taken;
  }

  // Keeps the nodes for which keep(node) is true from the next free_others().
  template <class Keep>
  void keep(Keep keep) {
    for (retired_block* block = first_; block != nullptr; block = block->next) {
      for (std::size_t i = block->kept; i < block->used; ++i) {
        if (keep(block->nodes[i].node)) std::swap(block->nodes[i], block->nodes[block->kept++]);
      }
    }
  }
  // Frees all nodes that keep() did not keep, and moves the others together. Returns how many were
  // freed.
  std::uint64_t free_others(spare_blocks& spares) {
    const std::uint64_t before = size_;
    retired_list kept;
    while (first_ != nullptr) {
      retired_block* const block = std::exchange(first_, first_->next);
      const std::size_t keeps = std::exchange(block->kept, 0);
      for (std::size_t i = keeps; i < block->used; ++i) block->nodes[i].destroy();
      block->used = 0;
      block->next = nullptr;
      // Into the blocks kept so far, or else, from the front, into this one itself.
      bool used = false;
      for (std::size_t i = 0; i < keeps; ++i) {
        const retired node = block->nodes[i];
        if (kept.full()) {
          kept.add(*block);
          used = true;
        }
        kept.push(node.node, node.call, node.deleter);
      }
      if (!used) spares.put(block);
    }
    last_ = nullptr;
    size_ = 0;
    splice(kept);
    return before - size_;
  }
  // Frees all nodes, and the memory that the list took. Returns how many nodes there were.
  std::uint64_t free_all() noexcept {
    while (first_ != nullptr) {
      for (std::size_t i = 0; i < first_->used; ++i) first_->nodes[i].destroy();
      delete std::exchange(first_, first_->next);
    }
    last_ = nullptr;
    return std::exchange(size_, 0);
  }

 private:
  retired_block* first_ = nullptr;
  retired_block* last_ = nullptr;
  plain<std::uint64_t> size_ = 0;
};

}  // namespace assay::reclaim::inline ASSAY_ABI::detail

#endif  // ASSAY_RECLAIM_RETIRED_H_
