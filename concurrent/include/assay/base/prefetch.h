// Tells the processor which cache line will be wanted before long, so that it is fetched while
// other work goes on.
//
//     sync::prefetch(child);            // will be read
//     sync::prefetch_to_write(leaf);    // will be written, such as its lock
//     ... what can be done without them ...
//
// A line that is fetched to be read may be held by other processors as well. To write it, the
// processor must ask them for it once more: prefetch_to_write() saves that.
//
// Both are hints of one instruction. They change nothing that a program can see, whatever the
// address: it may be null, or point to freed memory.
//
// A program that simulates caches replaces them: it defines ASSAY_PREFETCH_HEADER, which names the
// header that defines these names instead.

#ifndef ASSAY_BASE_PREFETCH_H_
#define ASSAY_BASE_PREFETCH_H_

#ifdef ASSAY_PREFETCH_HEADER
#include ASSAY_PREFETCH_HEADER
#else

namespace assay::sync {

inline void prefetch(const void* address) noexcept { __builtin_prefetch(address, 0, 3); }

inline void prefetch_to_write(const void* address) noexcept {
#if defined(__x86_64__)
  // Compilers make this instruction of __builtin_prefetch(address, 1, 3) only with -mprfchw, which
  // says that the processor has it, and otherwise the one for reading. Processors that lack it do
  // nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

}  // namespace assay::sync

#endif

#endif  // ASSAY_BASE_PREFETCH_H_
