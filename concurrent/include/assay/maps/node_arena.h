// Memory for the nodes of all maps of a process, in pages of 2 MiB: a search in a large map waits
// for the addresses of nodes nearly as long as for the nodes.
//
//     void* const block = assay::node_arena::allocate(768);
//     assay::node_arena::deallocate(block, 768);  // by any thread
//
// node_allocator.h makes an allocator of it, which is the default of bt_map.h.
//
// How it works
// ------------
// - The arena maps chunks of 2 MiB. The kernel is asked for large pages for all but the first one,
//   so that small maps take no more memory than their nodes need. It gives large pages where
//   /sys/kernel/mm/transparent_hugepage/enabled is `always` or `madvise`, and else small ones.
// - A chunk is cut into spans of 64 KiB, and a span into blocks of one size. A bit for each block
//   says whether it is free. The bits and all else that describes spans are at the chunk's
//   beginning, so that the arena neither reads nor writes free blocks.
// - A thread keeps some blocks of each size that it uses, at most 8 KiB or 32 blocks, but 2 in any
//   case, for its next allocations, and exchanges half of them at once with the arena (the
//   magazines of Bonwick and Adams 2001). They go back when the thread ends.
// - A span whose blocks are all free may become one of another size. A chunk whose spans are all
//   free goes back to the system, unless it is the only such chunk.
//
// The arena never ends, so that maps that are global objects may end at any time. There may be
// several arenas in a process, as of libraries that dlopen loads with RTLD_LOCAL. Each chunk knows
// its own, so that any of them may free a block.
//
// A child made by `fork` can allocate and free. What other threads of the parent kept for
// themselves is lost there. All locks of the arena are taken before a fork. So what pthread_atfork
// calls before a fork must not use maps if it was registered before the process's first map was
// made: it would be called later, and wait for ever.

#ifndef ASSAY_MAPS_NODE_ARENA_H_
#define ASSAY_MAPS_NODE_ARENA_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#if defined(__linux__)
#include <pthread.h>
#include <sys/mman.h>
#endif

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/locks/spin_lock.h"

namespace assay::inline ASSAY_ABI {

class node_arena {
 public:
  // The largest block that it has, and the greatest alignment.
  static constexpr std::size_t most_bytes = 9216;
  static constexpr std::size_t most_alignment = 64;

  // A block aligned to the greatest power of two that divides `bytes`, but no more than
  // most_alignment: enough for an object of that size. 0 < bytes <= most_bytes. By any thread;
  // waits only for threads that are in the arena; throws std::bad_alloc.
  [[nodiscard]] static void* allocate(std::size_t bytes) {
    const std::size_t size = size_of(bytes);
    magazines* const own = own_;
    if (own != nullptr && own->counts[size] != 0) [[likely]] {
      return own->blocks[size][--own->counts[size]];
    }
    return allocate_slowly(size);
  }

  // `block` is what allocate(bytes) returned. By any thread; waits as allocate does.
  static void deallocate(void* block, std::size_t bytes) noexcept {
    const std::size_t size = size_of(bytes);
    magazines* const own = own_;
    if (own != nullptr && own->counts[size] != most_kept(size)) [[likely]] {
      own->blocks[size][own->counts[size]++] = block;
      return;
    }
    deallocate_slowly(block, size);
  }

  // What the calling thread keeps for its next allocations, which may hold back whole chunks, goes
  // back to the arena.
  static void give_back() noexcept {
    magazines* const own = own_;
    if (own == nullptr) return;
    for (std::size_t size = 0; size < sizes; ++size) {
      give(size, std::span(own->blocks[size]).first(std::exchange(own->counts[size], 0)));
    }
  }

  struct usage {
    std::size_t bytes_in_use;  // of blocks, also of those that threads keep for later
    std::size_t bytes_mapped;  // address space from the system
  };
  // Exact if no other thread is in the arena. Waits as allocate does.
  [[nodiscard]] static usage used() {
    node_arena* const arena = instance_.load(memory_order_acquire);  // (2) with (1)
    return arena == nullptr ? usage{0, 0} : arena->count();
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{2} << 20U;
  static constexpr std::size_t span_bytes = std::size_t{64} << 10U;
  static constexpr std::size_t spans_of_chunk = chunk_bytes / span_bytes;

  // --- sizes: 32, 48, 64, ... 128, 192, 256, ... most_bytes ------------------------------------

  static constexpr std::size_t least_bytes = 32;
  static constexpr std::size_t fine = 16;  // steps up to fine_bytes
  static constexpr std::size_t fine_bytes = 128;
  static constexpr std::size_t coarse = 64;  // steps above
  static constexpr std::size_t fine_sizes = (fine_bytes - least_bytes) / fine + 1;
  static constexpr std::size_t sizes = fine_sizes + (most_bytes - fine_bytes) / coarse;

  static constexpr std::size_t size_of(std::size_t bytes) {
    if (bytes <= least_bytes) return 0;
    if (bytes <= fine_bytes) return (bytes - least_bytes + fine - 1) / fine;
    return fine_sizes - 1 + (bytes - fine_bytes + coarse - 1) / coarse;
  }
  static constexpr std::size_t bytes_of(std::size_t size) {
    if (size < fine_sizes) return least_bytes + size * fine;
    return fine_bytes + (size - fine_sizes + 1) * coarse;
  }

  // --- what threads keep -----------------------------------------------------------------------

  static constexpr std::size_t bytes_kept = 8192;
  static constexpr std::size_t most_in_magazine = 32;
  static constexpr std::size_t most_kept(std::size_t size) {
    return std::clamp(bytes_kept / bytes_of(size), std::size_t{2}, most_in_magazine);
  }
  struct magazines {
    std::array<std::uint32_t, sizes> counts{};
    std::array<std::array<void*, most_in_magazine>, sizes> blocks;  // not touched until it is used
  };

  [[gnu::noinline]] static void* allocate_slowly(std::size_t size) {
    node_arena& arena = instance();
    magazines* const own = own_or_none();
    if (own == nullptr) {
      void* block = nullptr;
      arena.take(size, {&block, 1});
      return block;
    }
    auto& blocks = own->blocks[size];
    const std::size_t taken = arena.take(size, std::span(blocks).first(most_kept(size) / 2));
    own->counts[size] = static_cast<std::uint32_t>(taken - 1);
    return blocks[taken - 1];
  }
  [[gnu::noinline]] static void deallocate_slowly(void* block, std::size_t size) noexcept {
    magazines* const own = own_or_none();
    if (own == nullptr) return give(size, {&block, 1});
    auto& blocks = own->blocks[size];
    auto& count = own->counts[size];
    if (count == most_kept(size)) {
      // Those that were freed last are the likeliest to be in a cache, and stay.
      const std::size_t given = most_kept(size) / 2;
      give(size, std::span(blocks).first(given));
      std::copy(blocks.begin() + given, blocks.begin() + count, blocks.begin());
      count -= static_cast<std::uint32_t>(given);
    }
    blocks[count++] = block;
  }

  // The thread's, made at its first call. None after they have been given back at the thread's end,
  // when destructors of other thread_local objects may still use maps, and none without memory.
  static magazines* own_or_none() noexcept {
    struct at_end {
      at_end() = default;
      at_end(const at_end&) = delete;
      at_end& operator=(const at_end&) = delete;
      ~at_end() {
        has_ended_ = true;
        give_back();
        delete std::exchange(own_, nullptr);
      }
    };
    if (own_ == nullptr && !has_ended_) {
      thread_local const at_end gives_back;
      static_cast<void>(gives_back);
      own_ = new (std::nothrow) magazines;
    }
    return own_;
  }

  // --- spans and chunks ------------------------------------------------------------------------

  template <class T>
  class list {
   public:
    [[nodiscard]] T* first() const { return first_; }
    void add(T& added) {
      added.previous = nullptr;
      added.next = first_;
      if (first_ != nullptr) first_->previous = &added;
      first_ = &added;
    }
    void remove(T& removed) {
      (removed.previous == nullptr ? first_ : removed.previous->next) = removed.next;
      if (removed.next != nullptr) removed.next->previous = removed.previous;
    }

   private:
    T* first_ = nullptr;
  };

  // A description of 64 KiB. Where blocks have 256 bytes and more, it is one cache line.
  struct alignas(64) span_of_blocks {
    span_of_blocks* next;
    span_of_blocks* previous;
    std::uint32_t block_bytes;
    std::uint32_t blocks;
    std::uint32_t used;
    std::array<std::uint64_t, span_bytes / least_bytes / 64> free;  // a bit for each block

    void cut(std::size_t size, std::size_t bytes) {
      block_bytes = static_cast<std::uint32_t>(bytes_of(size));
      blocks = static_cast<std::uint32_t>(bytes / block_bytes);
      used = 0;
      for (std::size_t i = 0; i * 64 < blocks; ++i) {
        const std::size_t left = blocks - i * 64;
        free[i] = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      }
    }
    [[nodiscard]] bool is_full() const { return used == blocks; }
    std::size_t take(std::byte* begin, std::span<void*> taken) {
      std::size_t count = 0;
      for (std::size_t i = 0; count < taken.size() && i * 64 < blocks; ++i) {
        for (; count < taken.size() && free[i] != 0; free[i] &= free[i] - 1) {
          const auto at = i * 64 + static_cast<std::size_t>(std::countr_zero(free[i]));
          taken[count++] = begin + at * block_bytes;
        }
      }
      used += static_cast<std::uint32_t>(count);
      return count;
    }
    void give(std::size_t offset) {
      const std::size_t at = offset / block_bytes;
      const std::uint64_t bit = std::uint64_t{1} << at % 64;
      misuse::require((free[at / 64] & bit) == 0, "a node is freed twice");
      free[at / 64] |= bit;
      --used;
    }
  };

  // The first bytes of 2 MiB, aligned to as many.
  struct chunk {
    explicit chunk(node_arena& of) : owner(&of) {}

    static chunk& of(void* block) {
      const std::size_t offset = reinterpret_cast<std::uintptr_t>(block) % chunk_bytes;
      return *reinterpret_cast<chunk*>(static_cast<std::byte*>(block) - offset);
    }
    span_of_blocks& span_with(const void* block) {
      return spans[static_cast<std::size_t>(static_cast<const std::byte*>(block) - begin()) /
                   span_bytes];
    }
    [[nodiscard]] std::byte* begin() { return reinterpret_cast<std::byte*>(this); }
    [[nodiscard]] std::byte* begin_of(const span_of_blocks& span) {
      const std::size_t number = number_of(span);
      return begin() + (number == 0 ? sizeof(chunk) : number * span_bytes);
    }
    [[nodiscard]] std::byte* end_of(const span_of_blocks& span) {
      return begin() + (number_of(span) + 1) * span_bytes;
    }
    [[nodiscard]] std::size_t number_of(const span_of_blocks& span) const {
      return static_cast<std::size_t>(&span - spans.data());
    }
    [[nodiscard]] bool is_empty() const { return free_spans == all_free; }

    static constexpr std::uint32_t all_free = ~std::uint32_t{0};
    static_assert(spans_of_chunk == 32);
    node_arena* const owner;
    chunk* next = nullptr;
    chunk* previous = nullptr;
    std::uint32_t free_spans = all_free;  // a bit for each
    std::array<span_of_blocks, spans_of_chunk> spans;
  };
  static_assert(sizeof(chunk) % most_alignment == 0 && sizeof(chunk) < span_bytes - most_bytes);

  // --- the arena -------------------------------------------------------------------------------

  struct alignas(64) size_class {
    sync::spin_lock lock;
    list<span_of_blocks> not_full;
    std::size_t used = 0;  // blocks
  };

  // Takes at least one block.
  std::size_t take(std::size_t size, std::span<void*> taken) {
    size_class& of = classes_[size];
    const std::scoped_lock held(of.lock);
    if (of.not_full.first() == nullptr) of.not_full.add(new_span(size));
    std::size_t count = 0;
    while (count < taken.size() && of.not_full.first() != nullptr) {
      span_of_blocks& from = *of.not_full.first();
      count += from.take(chunk::of(&from).begin_of(from), taken.subspan(count));
      if (from.is_full()) of.not_full.remove(from);
    }
    of.used += count;
    return count;
  }

  // To the arenas that they are from.
  static void give(std::size_t size, std::span<void* const> given) noexcept {
    list<chunk> unused;
    for (std::size_t i = 0; i < given.size();) {
      node_arena& arena = *chunk::of(given[i]).owner;
      size_class& to = arena.classes_[size];
      const std::scoped_lock held(to.lock);
      for (; i < given.size() && chunk::of(given[i]).owner == &arena; ++i) {
        chunk& in = chunk::of(given[i]);
        span_of_blocks& span = in.span_with(given[i]);
        const bool was_full = span.is_full();
        span.give(static_cast<std::size_t>(static_cast<std::byte*>(given[i]) - in.begin_of(span)));
        --to.used;
        if (was_full) to.not_full.add(span);
        if (span.used == 0) {
          to.not_full.remove(span);
          arena.give_span(in, span, unused);
        }
      }
    }
    // With no lock held, as the system takes its time.
    while (chunk* const each = unused.first()) {
      unused.remove(*each);
      unmap(each);
    }
  }

  span_of_blocks& new_span(std::size_t size) {
    const std::scoped_lock held(lock_);
    if (not_full_.first() == nullptr) {
      not_full_.add(*new (map(chunks_ != 0)) chunk(*this));
      ++chunks_;
      ++empty_chunks_;
    }
    chunk& from = *not_full_.first();
    if (from.is_empty()) --empty_chunks_;
    span_of_blocks& span = from.spans[static_cast<std::size_t>(std::countr_zero(from.free_spans))];
    from.free_spans &= from.free_spans - 1;
    if (from.free_spans == 0) not_full_.remove(from);
    span.cut(size, static_cast<std::size_t>(from.end_of(span) - from.begin_of(span)));
    return span;
  }

  // Adds the chunk to `unused` if nothing of it is in use and another such chunk is at hand.
  void give_span(chunk& to, const span_of_blocks& span, list<chunk>& unused) {
    const std::scoped_lock held(lock_);
    if (to.free_spans == 0) not_full_.add(to);
    to.free_spans |= std::uint32_t{1} << to.number_of(span);
    if (!to.is_empty()) return;
    if (empty_chunks_ == 0) {
      ++empty_chunks_;
      return;
    }
    not_full_.remove(to);
    --chunks_;
    unused.add(to);
  }

  usage count() {
    usage counted{0, 0};
    for (std::size_t size = 0; size < sizes; ++size) {
      const std::scoped_lock held(classes_[size].lock);
      counted.bytes_in_use += classes_[size].used * bytes_of(size);
    }
    const std::scoped_lock held(lock_);
    counted.bytes_mapped = chunks_ * chunk_bytes;
    return counted;
  }

  static node_arena& instance() {
    node_arena* const arena = instance_.load(memory_order_acquire);  // (2) with (1)
    if (arena != nullptr) return *arena;
    lock_at_fork();  // before another thread can hold one of its locks
    return made_instance();
  }
  static node_arena& made_instance() {
    node_arena* arena = nullptr;
    auto* const made = new node_arena;
    if (instance_.compare_exchange_strong(arena, made, memory_order_release,  // (1) with (2)
                                          memory_order_acquire)) {            // (2) with (1)
      return *made;
    }
    delete made;
    return *arena;
  }

  // --- the system ------------------------------------------------------------------------------

#if defined(__linux__)
  static void* map(bool in_large_pages) {
    // Twice as much, so that a large page is in it. The last one stays, and borders on the chunk
    // before, which the system has usually mapped above.
    void* const got = ::mmap(nullptr, 2 * chunk_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    auto* const first = static_cast<std::byte*>(got);
    const std::size_t before = chunk_bytes - reinterpret_cast<std::uintptr_t>(first) % chunk_bytes;
    ::munmap(first, before);
    if (before != chunk_bytes) ::munmap(first + before + chunk_bytes, chunk_bytes - before);
    ::madvise(first + before, chunk_bytes, in_large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return first + before;
  }
  static void unmap(chunk* unused) { ::munmap(unused, chunk_bytes); }

  // Takes all locks, so that none is held for ever in the child by a thread that is not there.
  // Several threads may come here, and register it several times: the first call counts.
  static void lock_at_fork() {
    const auto lock = [] {
      if (std::exchange(is_forking_, true)) return;
      node_arena* const arena = instance_.load(memory_order_acquire);  // (2) with (1)
      node_arena& locked = arena != nullptr ? *arena : made_instance();
      for (size_class& each : locked.classes_) each.lock.lock();
      locked.lock_.lock();
    };
    const auto unlock = [] {
      if (!std::exchange(is_forking_, false)) return;
      node_arena& locked = *instance_.load(memory_order_acquire);  // (2) with (1)
      locked.lock_.unlock();
      for (size_class& each : locked.classes_) each.lock.unlock();
    };
    if (::pthread_atfork(lock, unlock, unlock) != 0) throw std::bad_alloc();
  }
#else
  static void* map(bool /*in_large_pages*/) {
    return ::operator new(chunk_bytes, std::align_val_t(chunk_bytes));
  }
  static void unmap(chunk* unused) { ::operator delete(unused, std::align_val_t(chunk_bytes)); }
  static void lock_at_fork() {}
#endif

  std::array<size_class, sizes> classes_;  // locked before lock_, which protects what follows
  sync::spin_lock lock_;
  list<chunk> not_full_;
  std::size_t chunks_ = 0;
  std::size_t empty_chunks_ = 0;

  ASSAY_ONE_IN_PROCESS static inline constinit atomic<node_arena*> instance_{nullptr};
  ASSAY_ONE_IN_PROCESS static inline constinit thread_local bool is_forking_ = false;
  // Without constructors and destructors, so that they are read without asking whether they exist.
  static inline constinit thread_local magazines* own_ = nullptr;
  static inline constinit thread_local bool has_ended_ = false;
};

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_NODE_ARENA_H_
