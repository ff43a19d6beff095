// What threads did to the keys that each of them owns, what others observed of these keys, and
// whether the one explains the other. A part of owners.cpp.

#ifndef ASSAY_RIG_WATCH_OWNER_LOG_H_
#define ASSAY_RIG_WATCH_OWNER_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/subject/any_map.h"

namespace assay::rig {

inline constexpr unsigned most_owners = 8;

// The value that a thread's operation stores; never 0, which means that the key is not held. It has
// 44 bits: the ones above mean nothing.
[[nodiscard]] constexpr std::uint64_t value_by(unsigned thread, std::uint64_t number) {
  return std::uint64_t{thread + 1} << 40U | number;
}
struct origin {
  std::uint64_t thread;  // no thread's number if nobody stored such a value
  std::uint64_t number;
};
[[nodiscard]] constexpr origin origin_of(std::uint64_t value) {
  return {.thread = (value >> 40U & 0xfU) - 1, .number = value & ((std::uint64_t{1} << 40U) - 1)};
}

// Which thread owns which of `count` keys, by their places in ascending order: `block` neighbours
// belong to one, the next to another.
struct ownership {
  unsigned threads;
  std::size_t block;

  [[nodiscard]] unsigned owner(std::size_t place) const {
    return static_cast<unsigned>(place / block % threads);
  }
};

// The operations of a thread, from number 1 on: what each left, if it is about one of the thread's
// own keys.
struct logged {
  static constexpr std::uint32_t nowhere = UINT32_MAX;
  std::uint32_t place = nowhere;
  std::uint64_t value = 0;
};

// How many of a thread's operations had returned before a call began, and how many had begun when
// it had ended.
struct window {
  std::uint32_t returned = 0;
  std::uint32_t begun = 0;
};
using windows = std::array<window, most_owners>;

// What a search observed of one key of another thread.
struct observation {
  subject::question asked;
  std::uint32_t number;  // the operation of the thread that asked
  std::uint32_t place;
  window during;
  std::uint64_t value;
};

// What a visit observed of the places from `first` on.
struct visit_observation {
  subject::question asked;
  std::uint32_t number;
  std::uint32_t first;
  std::uint32_t count;
  bool atomic;
  windows during;
  std::size_t values;  // in thread_log::values, a value for each place
};

// How many elements there were.
struct size_observation {
  subject::question asked;
  std::uint32_t number;
  std::uint64_t answered;
  windows during;
};

// What one thread did and saw.
struct thread_log {
  std::vector<logged> log{};
  std::vector<observation> observations{};
  std::vector<visit_observation> visit_observations{};
  std::vector<std::uint64_t> values{};
  std::vector<size_observation> size_observations{};
};

struct judged_round {
  ownership owners;
  std::span<const std::uint64_t> keys;      // ascending
  std::span<const thread_log> thread_logs;  // of each thread
};

// What no moment explains, in words; empty if all is explained. Takes time in proportion to the
// logs and to what was seen, but for a logarithm.
[[nodiscard]] std::string unexplained(const judged_round& round);

// "thread 2's operation 4812"
[[nodiscard]] std::string name_of_operation(std::uint64_t thread, std::uint64_t number);

// "12345 of thread 2's operation 4812", "nothing"
[[nodiscard]] std::string told_value(std::uint64_t value);

}  // namespace assay::rig

#endif  // ASSAY_RIG_WATCH_OWNER_LOG_H_
