// Reductions over tasks: each thread of the team has a part of its own of each variable, zeroed,
// which the compiler's code initializes, and adds up at the end.
//
// gcc describes them by arrays of words, in a list (as gcc 12 calls the library):
//   [0] variables  [1] bytes for each thread  [2] alignment, later the address of the memory
//   [3] allocator  [4] next array, later at the end those of the group around
//   [5] for the library: here, whether it is the first array of a group
//   [6] the end of the memory
//   then for each variable, by ascending offset: its address, its offset, a word for the library

#ifndef ASSAY_OPENMP_REDUCTIONS_H_
#define ASSAY_OPENMP_REDUCTIONS_H_

#include <cstddef>
#include <cstdint>

namespace assay::omp {

struct taskgroup;

// Makes `arrays` those of the present task's group. `first`: null, or the arrays of the thread that
// was first at the construct, whose memory they share.
void register_reductions(std::uintptr_t* arrays, const std::uintptr_t* first, unsigned threads);
// The same for a group that no task has yet, without any around.
void register_reductions(taskgroup& group, std::uintptr_t* arrays, const std::uintptr_t* first,
                         unsigned threads);
// Frees the memory.
void unregister_reductions(std::uintptr_t* arrays);
// The calling thread's part of what `variable` names: a variable that was registered, or any
// thread's part of it. `original`: where to say which variable that is, or null.
void* part_of(const void* variable, void** original);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_REDUCTIONS_H_
