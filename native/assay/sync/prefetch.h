// Tells the processor which cache line will be wanted before long, so that it is fetched while
// other work goes on.
//
//     sync::prefetch(child);            // will be read
//     sync::prefetch_to_write(leaf);    // will be written, such as its lock
//     ... what can be done without them ...
//
// A line that is only to be read comes as one that others may hold as well. To write it then, the
// processor has to ask them for it once more: that is what prefetch_to_write() saves.
//
// Both are hints: they change nothing that a program can see, whatever the address, be it null or
// of memory that is gone.

#ifndef ASSAY_SYNC_PREFETCH_H_
#define ASSAY_SYNC_PREFETCH_H_

namespace assay::sync {

inline void prefetch(const void* address) noexcept { __builtin_prefetch(address, 0, 3); }

inline void prefetch_to_write(const void* address) noexcept {
#if defined(__x86_64__)
  // Compilers make this instruction of __builtin_prefetch(address, 1, 3) only where told that the
  // processor has it (-mprfchw), and else the one for reading. Those that lack it do nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

}  // namespace assay::sync

#endif  // ASSAY_SYNC_PREFETCH_H_
