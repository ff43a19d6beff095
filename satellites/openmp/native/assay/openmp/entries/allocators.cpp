// omp_alloc and its family (OpenMP 5.1, sections 2.13 and 3.13). There is one kind of memory; an
// allocator of the program's own adds alignment, a limit to what it gives at a time, and what to do
// where there is no more. Traits about where memory is and who uses it need nothing here.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#include "assay/base/atomics.h"
#include "assay/openmp/entries/entry.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

// As omp.h numbers them.
namespace key {
constexpr int alignment = 2;
constexpr int pool_size = 4;
constexpr int fallback = 5;
constexpr int fallback_allocator = 6;
constexpr int pinned = 7;
}  // namespace key
namespace value {
constexpr std::uintptr_t usual = ~std::uintptr_t{0};
constexpr std::uintptr_t yes = 1;
constexpr std::uintptr_t default_memory = 11;
constexpr std::uintptr_t null = 12;
constexpr std::uintptr_t abort = 13;
constexpr std::uintptr_t other_allocator = 14;
}  // namespace value
constexpr std::uintptr_t null_allocator = 0;
constexpr std::uintptr_t default_allocator = 1;
constexpr std::uintptr_t last_predefined = 8;
constexpr std::uintptr_t last_memory_space = 4;

struct trait {
  int key;
  std::uintptr_t value;
};

struct own_allocator {
  std::size_t alignment = alignof(std::max_align_t);
  std::size_t pool_size = ~std::size_t{0};
  std::uintptr_t fallback = value::default_memory;
  std::uintptr_t other = null_allocator;
  atomic<std::size_t> given{0};  // bytes; a count alone, so that all is relaxed

  bool take(std::size_t bytes) noexcept {
    std::size_t before = given.load(memory_order_relaxed);
    do {
      if (bytes > pool_size - before) return false;
    } while (!given.compare_exchange_weak(before, before + bytes, memory_order_relaxed));
    return true;
  }
  void put_back(std::size_t bytes) noexcept { given.fetch_sub(bytes, memory_order_relaxed); }
};

// Stands before what a program gets.
struct alignas(std::max_align_t) block {
  void* memory;
  std::size_t bytes;
  std::size_t taken;  // from the allocator
  std::uintptr_t allocator;
};

own_allocator* own(std::uintptr_t handle) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return handle > last_predefined ? reinterpret_cast<own_allocator*>(handle) : nullptr;
}

block& block_of(void* given) noexcept { return static_cast<block*>(given)[-1]; }

// Null if there is no memory, or the allocator gives no more.
void* try_allocate(std::size_t bytes, std::size_t alignment, std::uintptr_t handle, bool zeros) {
  own_allocator* const from = own(handle);
  if (from != nullptr) alignment = std::max(alignment, from->alignment);
  const std::size_t more = sizeof(block) + alignment;
  if (bytes > ~std::size_t{0} - more) return nullptr;
  // The header counts as well, as LLVM's tests expect: 2 MiB do not hold two blocks of 1 MiB.
  if (from != nullptr && !from->take(bytes + more)) return nullptr;
  void* const memory = zeros ? std::calloc(1, bytes + more) : std::malloc(bytes + more);
  if (memory == nullptr) {
    if (from != nullptr) from->put_back(bytes + more);
    return nullptr;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(memory) + sizeof(block);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* const given = reinterpret_cast<void*>((first + alignment - 1) / alignment * alignment);
  ::new (&block_of(given)) block{memory, bytes, bytes + more, handle};
  return given;
}

void* allocate(std::size_t bytes, std::size_t alignment, std::uintptr_t handle, bool zeros) {
  if (handle == null_allocator) handle = self().me->allocator;
  alignment = std::max(alignment, alignof(std::max_align_t));
  if (bytes == 0 || !std::has_single_bit(alignment)) return nullptr;
  while (true) {
    void* const given = try_allocate(bytes, alignment, handle, zeros);
    const own_allocator* const from = own(handle);
    if (given != nullptr || from == nullptr || from->fallback == value::null) return given;
    if (from->fallback == value::abort) {
      std::fprintf(
          stderr, "libassay-gomp: an allocator has no %zu bytes left, and asks for abort\n", bytes);
      std::abort();
    }
    handle = from->fallback == value::other_allocator ? from->other : default_allocator;
  }
}

void* allocate_many(std::size_t count, std::size_t bytes, std::size_t alignment,
                    std::uintptr_t handle) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return nullptr;
  return allocate(all, alignment, handle, true);
}

void release(void* given) noexcept {
  if (given == nullptr) return;
  const block& old = block_of(given);
  if (own_allocator* const from = own(old.allocator)) from->put_back(old.taken);
  std::free(old.memory);
}

// Null: there is no such allocator.
std::uintptr_t make_allocator(std::uintptr_t space, std::span<const trait> traits) {
  if (space > last_memory_space) return null_allocator;
  own_allocator made;
  for (const trait& each : traits) {
    if (each.value == value::usual) continue;
    switch (each.key) {
      case key::alignment:
        if (!std::has_single_bit(each.value)) return null_allocator;
        made.alignment = std::max(made.alignment, each.value);
        break;
      case key::pool_size:
        made.pool_size = each.value;
        break;
      case key::fallback:
        if (each.value < value::default_memory || each.value > value::other_allocator) {
          return null_allocator;
        }
        made.fallback = each.value;
        break;
      case key::fallback_allocator:
        made.other = each.value;
        break;
      case key::pinned:
        if (each.value == value::yes) return null_allocator;  // memory here can be paged out
        break;
      default:
        break;
    }
  }
  if (made.fallback == value::other_allocator && made.other == null_allocator) {
    return null_allocator;
  }
  auto* const kept = new own_allocator;
  kept->alignment = made.alignment;
  kept->pool_size = made.pool_size;
  kept->fallback = made.fallback;
  kept->other = made.other;
  return reinterpret_cast<std::uintptr_t>(kept);
}

}  // namespace

ASSAY_OPENMP_ENTRY std::uintptr_t omp_init_allocator(std::uintptr_t space, int count,
                                                     const trait* traits) {
  static_cast<void>(enter());
  return make_allocator(space, {traits, static_cast<std::size_t>(std::max(0, count))});
}
ASSAY_OPENMP_ENTRY std::uintptr_t omp_init_allocator_(const std::uintptr_t* space,
                                                      const std::int32_t* count,
                                                      const trait* traits) {
  return omp_init_allocator(*space, *count, traits);
}
ASSAY_OPENMP_ENTRY std::uintptr_t omp_init_allocator_8_(const std::uintptr_t* space,
                                                        const std::int64_t* count,
                                                        const trait* traits) {
  return omp_init_allocator(*space, static_cast<int>(*count), traits);
}

ASSAY_OPENMP_ENTRY void omp_destroy_allocator(std::uintptr_t handle) {
  static_cast<void>(enter());
  delete own(handle);
}
ASSAY_OPENMP_ENTRY void omp_destroy_allocator_(const std::uintptr_t* handle) {
  omp_destroy_allocator(*handle);
}

ASSAY_OPENMP_ENTRY void omp_set_default_allocator(std::uintptr_t handle) {
  enter().me->allocator = handle == null_allocator ? default_allocator : handle;
}
ASSAY_OPENMP_ENTRY void omp_set_default_allocator_(const std::uintptr_t* handle) {
  omp_set_default_allocator(*handle);
}

ASSAY_OPENMP_ENTRY std::uintptr_t omp_get_default_allocator() { return self().me->allocator; }
ASSAY_OPENMP_ENTRY std::uintptr_t omp_get_default_allocator_() {
  return omp_get_default_allocator();
}

ASSAY_OPENMP_ENTRY void* omp_alloc(std::size_t bytes, std::uintptr_t handle) {
  return allocate(bytes, 1, handle, false);
}
ASSAY_OPENMP_ENTRY void* omp_aligned_alloc(std::size_t alignment, std::size_t bytes,
                                           std::uintptr_t handle) {
  return allocate(bytes, alignment, handle, false);
}
ASSAY_OPENMP_ENTRY void* omp_calloc(std::size_t count, std::size_t bytes, std::uintptr_t handle) {
  return allocate_many(count, bytes, 1, handle);
}
ASSAY_OPENMP_ENTRY void* omp_aligned_calloc(std::size_t alignment, std::size_t count,
                                            std::size_t bytes, std::uintptr_t handle) {
  return allocate_many(count, bytes, alignment, handle);
}

ASSAY_OPENMP_ENTRY void omp_free(void* given, std::uintptr_t /*handle*/) { release(given); }

ASSAY_OPENMP_ENTRY void* omp_realloc(void* old, std::size_t bytes, std::uintptr_t handle,
                                     std::uintptr_t old_handle) {
  if (old == nullptr) return allocate(bytes, 1, handle, false);
  if (bytes == 0) {
    release(old);
    return nullptr;
  }
  if (old_handle == null_allocator) old_handle = block_of(old).allocator;
  void* const fresh = allocate(bytes, 1, handle == null_allocator ? old_handle : handle, false);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, old, std::min(bytes, block_of(old).bytes));
  release(old);
  return fresh;
}

// The `allocate` clause.
ASSAY_OPENMP_ENTRY void* GOMP_alloc(std::size_t alignment, std::size_t bytes,
                                    std::uintptr_t handle) {
  return allocate(bytes, alignment, handle, false);
}
ASSAY_OPENMP_ENTRY void GOMP_free(void* given, std::uintptr_t /*handle*/) { release(given); }

}  // namespace assay::omp
