// The vector instructions that a loop is written with. A loop that is worth it has one variant for
// each. All variants give the same numbers. The best one that the processor runs is chosen when the
// object that holds the loop is made.
//
//     switch (best_instruction_set()) {
//       case instruction_set::avx512: return fill_avx512(...);
//       ...
//
// A variant is an ordinary function with ASSAY_AVX2 or ASSAY_AVX512 before it, in which alone the
// compiler may use those instructions; helpers that it inlines must carry the same word. Programs
// are thus built once, for every processor of their architecture.

#ifndef ASSAY_BASE_INSTRUCTION_SET_H_
#define ASSAY_BASE_INSTRUCTION_SET_H_

#include <array>
#include <string_view>

#if defined(__x86_64__)
#define ASSAY_AVX2 __attribute__((target("avx2,bmi2")))
#define ASSAY_AVX512 __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512dq,avx512vl")))
#endif

namespace assay::host {

enum class instruction_set { scalar, avx2, avx512 };  // each contains those before it

inline constexpr std::array<std::string_view, 3> instruction_set_names{"scalar", "avx2", "avx512"};

// The last one that this processor runs.
[[nodiscard]] inline instruction_set best_instruction_set() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) {
    return instruction_set::scalar;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return instruction_set::avx512;
  }
  return instruction_set::avx2;
#else
  return instruction_set::scalar;
#endif
}

}  // namespace assay::host

#endif  // ASSAY_BASE_INSTRUCTION_SET_H_
