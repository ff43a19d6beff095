// taskloop.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/entries/loops.h"
#include "assay/openmp/reductions.h"

namespace assay::omp {
namespace {

// As gcc numbers them; others are the same for GOMP_task().
constexpr unsigned flag_final = 1U << 1U;
constexpr unsigned flag_up = 1U << 8U;
constexpr unsigned flag_grainsize = 1U << 9U;
constexpr unsigned flag_if = 1U << 10U;
constexpr unsigned flag_nogroup = 1U << 11U;
constexpr unsigned flag_reduction = 1U << 12U;
constexpr unsigned flag_strict = 1U << 14U;

// How many tasks, and how the iterations fall to them: the first `longer` tasks have one more than
// `share`, and the last ends with the loop.
struct division {
  std::uint64_t tasks;
  std::uint64_t share;
  std::uint64_t longer;
};

division divide(std::uint64_t iterations, std::uint64_t asked, unsigned flags, unsigned threads) {
  if ((flags & flag_grainsize) != 0) {
    const std::uint64_t grain = std::max<std::uint64_t>(asked, 1);
    if ((flags & flag_strict) != 0) {
      return {.tasks = (iterations - 1) / grain + 1, .share = grain, .longer = 0};
    }
    asked = std::max<std::uint64_t>(iterations / grain, 1);
  } else if (asked == 0) {
    asked = threads;
  }
  const std::uint64_t tasks = std::min(asked, iterations);
  return {.tasks = tasks, .share = iterations / tasks, .longer = iterations % tasks};
}

struct taskloop {
  void (*function)(void*);
  void* data;
  void (*copy)(void*, void*);
  long argument_bytes;
  long argument_alignment;
  unsigned flags;
};

// The task's own bounds are the first two of its arguments.
template <class T>
void make_tasks(const taskloop& given, const loop& what, unsigned long asked) {
  if (what.iterations == 0) return;
  member& at = *self().me;
  const bool deferred = (given.flags & flag_if) != 0 && !self().current->final && at.in->size > 1;
  const division parts = divide(what.iterations, asked, given.flags, at.in->size);
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < parts.tasks; ++i) {
    const std::uint64_t after =
        first + std::min(parts.share + (i < parts.longer ? 1 : 0), what.iterations - first);
    task* const made = make_task(static_cast<std::size_t>(given.argument_bytes),
                                 static_cast<std::size_t>(given.argument_alignment));
    made->function = given.function;
    made->final = made->final || (given.flags & flag_final) != 0;
    if (given.copy != nullptr) {
      given.copy(made->data, given.data);
    } else {
      std::memcpy(made->data, given.data, static_cast<std::size_t>(given.argument_bytes));
    }
    auto* const bounds = static_cast<T*>(made->data);
    bounds[0] = static_cast<T>(what.value(first));
    bounds[1] = static_cast<T>(what.value(after));
    first = after;
    if (!deferred) {
      run_now(made);
      continue;
    }
    count_in(*made);
    if (at.ready.push(made)) {
      at.in->news.tell();
    } else {
      run(made);
    }
  }
}

template <class T>
void run_taskloop(const taskloop& given, const loop& what, unsigned long asked) {
  if ((given.flags & flag_nogroup) != 0) {
    make_tasks<T>(given, what, asked);
    return;
  }
  open_group(false);
  if ((given.flags & flag_reduction) != 0) {
    struct arguments {
      T first;
      T after;
      std::uintptr_t* reductions;
    };
    register_reductions(static_cast<arguments*>(given.data)->reductions, nullptr,
                        self().me->in->size);
  }
  make_tasks<T>(given, what, asked);
  close_group(reinterpret_cast<void*>(given.function));
}

}  // namespace

ASSAY_OPENMP_ENTRY void GOMP_taskloop(void (*function)(void*), void* data,
                                      void (*copy)(void*, void*), long argument_bytes,
                                      long argument_alignment, unsigned flags, unsigned long tasks,
                                      int /*priority*/, long start, long end, long step) {
  static_cast<void>(enter());
  run_taskloop<long>({.function = function,
                      .data = data,
                      .copy = copy,
                      .argument_bytes = argument_bytes,
                      .argument_alignment = argument_alignment,
                      .flags = flags},
                     make_loop(start, end, step, with_chunk(schedule_kind::fixed, 0)), tasks);
}

ASSAY_OPENMP_ENTRY void GOMP_taskloop_ull(void (*function)(void*), void* data,
                                          void (*copy)(void*, void*), long argument_bytes,
                                          long argument_alignment, unsigned flags,
                                          unsigned long tasks, int /*priority*/, ull start, ull end,
                                          ull step) {
  static_cast<void>(enter());
  run_taskloop<ull>(
      {.function = function,
       .data = data,
       .copy = copy,
       .argument_bytes = argument_bytes,
       .argument_alignment = argument_alignment,
       .flags = flags},
      make_loop((flags & flag_up) != 0, start, end, step, with_chunk(schedule_kind::fixed, 0)),
      tasks);
}

}  // namespace assay::omp
