// The names of assay/sync/atomics.h as relacy defines them, for models of the protocols: programs
// that instantiate the product's own headers, and of which relacy runs very many schedules, with
// every value that the memory model lets a load return.
//
// A model is told to contain a mistake by PLANTED, to show that it would be found:
// - no_fences: fences are nothing
// - relaxed_announcements: words that announce epochs or pointers are stored relaxed

#ifndef ASSAY_RECLAIM_MODEL_ATOMICS_H_
#define ASSAY_RECLAIM_MODEL_ATOMICS_H_

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

#define PLANTED_none 0
#define PLANTED_no_fences 1
#define PLANTED_relaxed_announcements 2
#define PLANTED_too_few_bags 3
#define PLANTED_CONCATENATED(a, b) a##b
#define PLANTED_NUMBER(mistake) PLANTED_CONCATENATED(PLANTED_, mistake)
#ifndef PLANTED
#define PLANTED none
#endif

namespace assay {

inline constexpr int planted = PLANTED_NUMBER(PLANTED);

// As the standard's since C++20, it begins with T().
template <class T>
class atomic : public rl::atomic<T> {
 public:
  atomic() : rl::atomic<T>(T()) {}
  atomic(T value) : rl::atomic<T>(value) {}  // NOLINT(google-explicit-constructor): as std::atomic

  void store(T value, rl::memory_order order, rl::debug_info_param place) {
    if constexpr (planted == PLANTED_relaxed_announcements &&
                  (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, void*>)) {
      order = rl::mo_relaxed;
    }
    rl::atomic<T>::store(value, order, place);
  }
};

// An object, so that relacy's function of that name is not found beside it.
inline constexpr auto atomic_thread_fence = [](rl::memory_order order, rl::debug_info_param place) {
  if constexpr (planted != PLANTED_no_fences) rl::atomic_thread_fence(order, place);
};

}  // namespace assay

#endif  // ASSAY_RECLAIM_MODEL_ATOMICS_H_
