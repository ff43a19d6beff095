// Reports what traced code reads and writes to simulated caches.
//
//     coherence::caches all(16);
//     {
//       const coherence::tracing as(all, 3);  // what this thread does is processor 3's
//       handle.insert(7, 1);
//     }
//
// Traced code is compiled with -fsanitize=thread, by which a compiler calls a function before each
// access to memory that another thread may know, and in place of each atomic one. These functions
// are not ThreadSanitizer's here, but trace.cpp's. They are called for everybody's headers, so that
// a map needs no atomics of ours to be traced. What is prefetched counts as read, or written.
//
// Not seen is what libraries do that were compiled without it: the C library, with its allocator,
// and the parts of libcds and oneTBB that are not headers. A mutex or a shared mutex counts as one
// word that each lock and each unlock writes, as in the C library here.

#ifndef BENCHMARKS_COHERENCE_TRACE_H_
#define BENCHMARKS_COHERENCE_TRACE_H_

#include <cstddef>

#include "caches.h"

namespace assay::coherence {

// From its beginning to its end. A thread has one at a time, and one thread at a time has one.
class tracing {
 public:
  tracing(caches& all, unsigned processor) noexcept;
  ~tracing();
  tracing(const tracing&) = delete;
  tracing& operator=(const tracing&) = delete;
};

// The calling thread's, if it is traced.
void report(const volatile void* address, std::size_t bytes, bool writes) noexcept;

}  // namespace assay::coherence

#endif  // BENCHMARKS_COHERENCE_TRACE_H_
