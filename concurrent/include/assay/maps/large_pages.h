// Memory in large pages, for maps of a million elements and more: a search there waits for the
// addresses of nodes nearly as long as for the nodes.
//
//     assay::large_pages pages;
//     std::pmr::synchronized_pool_resource pool(&pages);          // cuts them into nodes
//
//     struct in_large_pages : assay::bt_policies<std::uint64_t> {
//       using allocator = std::pmr::polymorphic_allocator<std::byte>;
//     };
//     assay::bt_map<std::uint64_t, double, in_large_pages> prices(&pool);   // ends before the pool
//
// docs/guide/bt_map.md says what that gains. Each piece of memory begins on a large page of 2 MiB
// and takes whole ones, so this is for pools and other resources that ask for much at once. Linux
// gives large pages where /sys/kernel/mm/transparent_hugepage/enabled is `always` or `madvise`,
// and pages of the usual size elsewhere; on other systems the memory comes from operator new.

#ifndef ASSAY_MAPS_LARGE_PAGES_H_
#define ASSAY_MAPS_LARGE_PAGES_H_

#include <cstddef>
#include <memory_resource>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>

#include <cstdint>
#endif

namespace assay {

// Its functions are called by any thread at any time. Allocation throws std::bad_alloc; both calls
// are a few system calls, and wait as the system does.
class large_pages final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t page_bytes = std::size_t{2} << 20U;

 private:
#if defined(__linux__)
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (alignment > page_bytes || bytes > SIZE_MAX - 2 * page_bytes) throw std::bad_alloc();
    const std::size_t wanted = whole_pages(bytes);
    // One page more, so that a large page begins in it. What is left on both sides goes back.
    const std::size_t mapped = wanted + page_bytes;
    void* const got =
        ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    auto* const first = static_cast<std::byte*>(got);
    const std::size_t before =
        (page_bytes - reinterpret_cast<std::uintptr_t>(first) % page_bytes) % page_bytes;
    if (before != 0) ::munmap(first, before);
    ::munmap(first + before + wanted, page_bytes - before);
    ::madvise(first + before, wanted, MADV_HUGEPAGE);  // if refused, the pages are small
    return first + before;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t /*alignment*/) override {
    ::munmap(memory, whole_pages(bytes));
  }
  static std::size_t whole_pages(std::size_t bytes) {
    return (bytes / page_bytes + (bytes % page_bytes != 0 || bytes == 0 ? 1 : 0)) * page_bytes;
  }
#else
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  void do_deallocate(void* memory, std::size_t /*bytes*/, std::size_t alignment) override {
    ::operator delete(memory, std::align_val_t(alignment));
  }
#endif
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;  // the kind of `other` could be asked with RTTI alone
  }
};

}  // namespace assay

#endif  // ASSAY_MAPS_LARGE_PAGES_H_
