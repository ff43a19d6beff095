// The names of assay/base/atomics.h as relacy defines them, for models of the protocols: programs
// that instantiate the product's own headers. Relacy runs very many of their schedules, with every
// value that the memory model lets a load return.
//
// The fences of asymmetric_fence.h are of two kinds in the product, and so in the models:
// - ASSAY_MODEL_MEMBARRIER=1: a light fence is nothing, as far as memory is concerned, and a heavy
//   one makes all threads pass a full fence. Relacy does it to all of them at once, where
//   membarrier does it to one after the other while it lasts. Whatever the order of operations
//   around a light fence is to be, memory orders must give it.
// - ASSAY_MODEL_MEMBARRIER=0: both are fences of memory_order_seq_cst, as where membarrier is
//   refused. As these acquire and release too, they hide the lack of other orders.
//
// Relacy lets any thread take any step next, so that none ever stalls while another does a lot.
// With ASSAY_MODEL_STALLS=n, defined before this header, a thread stalls before one in n loads.

#ifndef TESTS_BASE_MODEL_ATOMICS_H_
#define TESTS_BASE_MODEL_ATOMICS_H_

// What relacy's macros must not reach comes before it.
// clang-format off
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <relacy/relacy.hpp>
// clang-format on
#include "tests/base/model_mistake.h"

#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef memory_order_relaxed
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

#define memory_order_relaxed rl::mo_relaxed, $
#define memory_order_acquire rl::mo_acquire, $
#define memory_order_release rl::mo_release, $
#define memory_order_acq_rel rl::mo_acq_rel, $
#define memory_order_seq_cst rl::mo_seq_cst, $

#ifndef ASSAY_MODEL_STALLS
#define ASSAY_MODEL_STALLS 0
#endif

namespace assay {

inline void perhaps_stall() {
  if (ASSAY_MODEL_STALLS == 0 || rl::rand(ASSAY_MODEL_STALLS) != 0) return;
  for (unsigned steps = rl::rand(256); steps > 0; --steps) rl::yield(1, $);
}

// As the standard's since C++20, it begins with T().
template <class T>
class atomic : public rl::atomic<T> {
 public:
  atomic() : rl::atomic<T>(T()) {}
  atomic(T value) : rl::atomic<T>(value) {}  // NOLINT(google-explicit-constructor): as std::atomic
  T load(rl::memory_order order, rl::debug_info_param info) const {
    perhaps_stall();
    return rl::atomic<T>::load(order, info);
  }
};

// An object whose uses relacy sees, and reports when two are not ordered.
template <class T>
class plain {
 public:
  plain() : plain(T()) {}
  plain(T value) { held_($) = value; }  // NOLINT(google-explicit-constructor): as T
  plain(const plain& other) : plain(static_cast<T>(other)) {}
  plain& operator=(const plain& other) { return *this = static_cast<T>(other); }
  plain& operator=(T value) {
    held_($) = value;
    return *this;
  }
  operator T() const { return held_($); }  // NOLINT(google-explicit-constructor): as T
  plain& operator+=(T more) { return *this = static_cast<T>(*this) + more; }
  plain& operator++() { return *this += 1; }
  plain& operator--() { return *this += T{0} - 1; }

 private:
  rl::var<T> held_;
};

namespace sync {

inline void prepare_light_fences() {}
#if ASSAY_MODEL_MEMBARRIER
inline void light_fence() {}
inline void heavy_fence() { rl::systemwide_fence($); }
#else
inline void light_fence() { rl::atomic_thread_fence(memory_order_seq_cst); }
inline void heavy_fence() { rl::atomic_thread_fence(memory_order_seq_cst); }
#endif

}  // namespace sync

// main() of a model: runs schedules at random, each of at most this many steps; returns the exit
// code. Without an argument relacy must find nothing wrong. An argument names a planted mistake
// (model_mistake.h), which it must find.
template <class Model>
int judge(int argc, char** argv, std::size_t schedules,
          unsigned steps = rl::test_params().execution_depth_limit) {
  if (argc > 1) planted_mistake = argv[1];
  rl::test_params parameters;
  parameters.execution_depth_limit = steps;
  parameters.search_type = rl::random_scheduler_type;
  parameters.iteration_count = static_cast<rl::iteration_t>(schedules);
  const bool passed = rl::simulate<Model>(parameters);
  if (passed == planted_mistake.empty()) return 0;
  std::puts(passed ? "the planted mistake was not found" : "the model fails");
  return 1;
}

}  // namespace assay

#endif  // TESTS_BASE_MODEL_ATOMICS_H_
