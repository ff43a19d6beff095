// Reductions over tasks.

#include "assay/openmp/reductions.h"

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/team.h"

namespace assay::omp {

// The arrays are the first of the region's shared variables. Returns for how many threads there
// are parts, which the program adds up.
ASSAY_OPENMP_ENTRY unsigned GOMP_parallel_reductions(void (*function)(void*), void* data,
                                                     unsigned threads, unsigned flags) {
  static_cast<void>(enter());
  const unsigned size = team_size(threads);
  taskgroup group;
  register_reductions(group, *static_cast<std::uintptr_t**>(data), nullptr, size);
  run_parallel(function, data, size, flags & 7U, &group);
  return size;
}

ASSAY_OPENMP_ENTRY void GOMP_taskgroup_reduction_register(std::uintptr_t* arrays) {
  register_reductions(arrays, nullptr, enter().me->in->size);
}

ASSAY_OPENMP_ENTRY void GOMP_taskgroup_reduction_unregister(std::uintptr_t* arrays) {
  static_cast<void>(enter());
  unregister_reductions(arrays);
}

// Replaces each of `count` addresses, of variables or of any thread's parts of them, by that of the
// calling thread's part. The first `originals` variables' own addresses follow in the list.
ASSAY_OPENMP_ENTRY void GOMP_task_reduction_remap(std::size_t count, std::size_t originals,
                                                  void** addresses) {
  static_cast<void>(enter());
  for (std::size_t i = 0; i < count; ++i) {
    addresses[i] = part_of(addresses[i], i < originals ? &addresses[count + i] : nullptr);
  }
}

// At the end of a workshare with task reductions. The first member has added up all parts, unless
// the region was cancelled.
ASSAY_OPENMP_ENTRY void GOMP_workshare_task_reduction_unregister(bool cancelled) {
  const thread& mine = enter();
  std::uintptr_t* const arrays = mine.current->group->reductions;
  close_group(__builtin_return_address(0));
  if (mine.me->id == 0) unregister_reductions(arrays);
  if (!cancelled) static_cast<void>(wait_at_barrier(__builtin_return_address(0), false));
}

}  // namespace assay::omp
