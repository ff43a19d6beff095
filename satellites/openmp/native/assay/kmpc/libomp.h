// clang's runtime, which stands behind the functions that this library has in its place.

#ifndef ASSAY_KMPC_LIBOMP_H_
#define ASSAY_KMPC_LIBOMP_H_

#include <cstddef>
#include <cstdint>

namespace assay::kmpc {

// What a parallel region is compiled to: after the two numbers of the thread come as many words as
// it captures.
using outlined = void (*)(std::int32_t* global_number, std::int32_t* bound_number, ...);

// Its functions. A place in the program's source is a pointer that nobody here reads.
struct libomp {
  void (*fork_call)(void* place, std::int32_t words, outlined function, ...);
  void (*barrier)(void* place, std::int32_t thread);
  void* (*task_alloc)(void* place, std::int32_t thread, std::int32_t flags, std::size_t bytes,
                      std::size_t shared_bytes, void* entry);
  void* (*target_task_alloc)(void* place, std::int32_t thread, std::int32_t flags,
                             std::size_t bytes, std::size_t shared_bytes, void* entry,
                             std::int64_t device);
  int (*level)();
  int (*num_threads)();
  int (*thread_num)();
};

// Ends the process with a message if it has no libomp.
const libomp& real() noexcept;

}  // namespace assay::kmpc

#endif  // ASSAY_KMPC_LIBOMP_H_
