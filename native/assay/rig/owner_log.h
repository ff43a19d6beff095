// What threads did to the keys that each of them owns, what others were told of these keys, and
// whether the one explains the other. A part of owners.cpp.

#ifndef ASSAY_RIG_OWNER_LOG_H_
#define ASSAY_RIG_OWNER_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/subject/any_map.h"

namespace assay::rig {

inline constexpr unsigned most_owners = 8;

// The value that a thread's operation stores; never 0, which stands for a key that is not held. It
// has 44 bits: those above tell nothing.
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

// The operations of a thread, the first of which has number 1: what each left, if it is about a key
// of the thread's own.
struct logged {
  static constexpr std::uint32_t nowhere = UINT32_MAX;
  std::uint32_t place = nowhere;
  std::uint64_t value = 0;
};

// Of the operations of a thread so many had returned before a call began, and so many had begun
// after it had ended.
struct window {
  std::uint32_t returned = 0;
  std::uint32_t begun = 0;
};
using windows = std::array<window, most_owners>;

// What a search was told of one key of another thread.
struct observation {
  question asked;
  std::uint32_t number;  // the operation of the thread that asked
  std::uint32_t place;
  window during;
  std::uint64_t value;
};

// What a visit told of the places from `first` on.
struct sighting {
  question asked;
  std::uint32_t number;
  std::uint32_t first;
  std::uint32_t count;
  bool atomic;
  windows during;
  std::size_t values;  // in witness::values, a value for each place
};

// How many elements there were.
struct counting {
  question asked;
  std::uint32_t number;
  std::uint64_t answered;
  windows during;
};

// What one thread did and saw.
struct witness {
  std::vector<logged> log{};
  std::vector<observation> observations{};
  std::vector<sighting> sightings{};
  std::vector<std::uint64_t> values{};
  std::vector<counting> countings{};
};

struct judged_round {
  ownership owners;
  std::span<const std::uint64_t> keys;  // ascending
  std::span<const witness> witnesses;   // of each thread
};

// What no moment explains, in words; empty if all is explained. Takes time in proportion to the
// logs and to what was seen, but for a logarithm.
[[nodiscard]] std::string unexplained(const judged_round& round);

// "thread 2's operation 4812"
[[nodiscard]] std::string name_of_operation(std::uint64_t thread, std::uint64_t number);

// "12345 of thread 2's operation 4812", "nothing"
[[nodiscard]] std::string told_value(std::uint64_t value);

}  // namespace assay::rig

#endif  // ASSAY_RIG_OWNER_LOG_H_
