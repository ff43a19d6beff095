// A batch of map operations: what a generator fills and the trial loop performs.
//
// Keys and kinds are in two arrays rather than one of pairs, so that a generator may fill and a
// reader may count either of them with vector instructions. A batch takes 4.6 KB and stays in the
// first-level cache between the two.

#ifndef ASSAY_WORKLOAD_OPERATION_BATCH_H_
#define ASSAY_WORKLOAD_OPERATION_BATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::workload {

// What threads write is kept this far apart: two cache lines, as processors fetch them in pairs.
// (The standard library's constant for it may change with the compiler's flags, and with it the
// layout of types.)
inline constexpr std::size_t interference_bytes = 128;

// What a map can be asked to do, by number. Every map has the first three. Those named here are
// Assay's concept of a map; subjects may have more, whose names get numbers from there on
// (operations.h).
enum class operation : std::uint8_t {
  insert,
  erase,
  find,
  range,     // visit the keys from one to another, in order
  size,      // how many keys are held
  snapshot,  // visit every element as of one instant
  iterate,   // visit every element, each as it is met
};

inline constexpr std::size_t named_operations = 7;
inline constexpr std::size_t operation_kinds = 40;  // at most

struct operation_batch {
  static constexpr std::size_t capacity = 512;

  alignas(64) std::array<std::uint64_t, capacity> keys;
  alignas(64) std::array<operation, capacity> kinds;
  alignas(64) std::array<std::uint64_t, capacity> last_keys;  // of what spans; keys has the first
  std::size_t size = 0;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_OPERATION_BATCH_H_
