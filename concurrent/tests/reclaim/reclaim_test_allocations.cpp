#include "tests/reclaim/reclaim_test_allocations.h"

#if !ASSAY_THREAD_SANITIZER
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (assay::tests::allocations.fails_now()) throw std::bad_alloc();
  void* const memory =
      std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  ++assay::tests::allocations_made;
  assay::tests::bytes_in_use += static_cast<std::int64_t>(malloc_usable_size(memory));
  return memory;
}

void release(void* memory) {
  assay::tests::bytes_in_use -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

// Those for arrays and those that do not throw call these.
void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
#endif
