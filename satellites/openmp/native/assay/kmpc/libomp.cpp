#include "assay/kmpc/libomp.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace assay::kmpc {
namespace {

// Programs are linked to libomp, or load it later with a library that nobody else sees.
template <class Function>
void find(Function& to, const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  for (const char* const library : {"libomp.so.5", "libomp.so", "libiomp5.so"}) {
    if (found != nullptr) break;
    void* const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (loaded != nullptr) found = dlsym(loaded, name);
  }
  if (found == nullptr) {
    std::fprintf(stderr,
                 "libassay-kmpc: no libomp has been loaded that has %s; run the program without "
                 "libassay-kmpc.so\n",
                 name);
    std::abort();
  }
  to = reinterpret_cast<Function>(found);
}

libomp find_all() {
  libomp all{};
  find(all.fork_call, "__kmpc_fork_call");
  find(all.barrier, "__kmpc_barrier");
  find(all.task_alloc, "__kmpc_omp_task_alloc");
  find(all.target_task_alloc, "__kmpc_omp_target_task_alloc");
  find(all.level, "omp_get_level");
  find(all.num_threads, "omp_get_num_threads");
  find(all.thread_num, "omp_get_thread_num");
  return all;
}

}  // namespace

const libomp& real() noexcept {
  static const libomp all = find_all();
  return all;
}

}  // namespace assay::kmpc
