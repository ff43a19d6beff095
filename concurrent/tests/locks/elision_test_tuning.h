// elision_tuning.h for tests and models: it says at random whether transactions pay, each time
// anew, or what a test has it say. So a lock falls dormant and opens again all the time, which
// takes the real one thousands of sections.
//
// Included before what uses elided locks.

#ifndef TESTS_LOCKS_ELISION_TEST_TUNING_H_
#define TESTS_LOCKS_ELISION_TEST_TUNING_H_

#define ASSAY_LOCKS_ELISION_TUNING_H_  // this is in its place

#include <cstdint>
#include <optional>

#include "assay/base/atomics.h"

namespace assay::sync {

class elision_tuning {
 public:
  // What attempts() is; nothing: drawn. Written while no other thread uses a lock.
  static inline std::optional<unsigned> steered{};

  [[nodiscard]] unsigned attempts() const noexcept { return steered.value_or(drawn(2) * 3); }
  [[nodiscard]] bool pays() const noexcept { return attempts() != 0; }
  void taken_inside() noexcept {}
  void record(std::uint64_t /*sections*/, std::uint64_t /*ns*/) noexcept {}

 private:
  static unsigned drawn(unsigned below) noexcept {
#ifdef ASSAY_SYNC_MODEL_ATOMICS_H_
    return rl::rand(below);
#else
    // Knuth, The Art of Computer Programming 2, section 3.3.4: MMIX.
    static thread_local std::uint64_t state = 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>(state >> 33U) % below;
#endif
  }
};

}  // namespace assay::sync

#endif  // TESTS_LOCKS_ELISION_TEST_TUNING_H_
