// Which cache lines move between processors, if each has a cache of its own? A simulation, not a
// measurement: it counts lines and knows no time.
//
//     coherence::caches all(16);                  // processors
//     all.access(3, address, 8, true);            // processor 3 writes 8 bytes there
//     all.access(5, address, 8, false);           // processor 5 reads them
//     all.counted().fetched;                      // 1: the line that processor 3 had written
//
// Caches hold lines of 64 bytes by the protocol MESI (Papamarcos and Patel 1984): a line that was
// written is in one cache alone, and one that was only read may be in several. A directory knows
// which caches hold a line. A cache holds 2 MiB in sets of 8 lines, as the private ones of
// today's servers; in a set, the line that was used longest ago gives way.
//
// Lines are numbered by who is met first, and the number says which set a line belongs to. So the
// same accesses give the same counts wherever the system lays memory.
//
// What it leaves out: processors fetch lines that nobody asked for (pairs of lines, streams),
// run ahead into wrong branches, and merge writes. Instructions and other programs take no place.

#ifndef BENCHMARKS_COHERENCE_CACHES_H_
#define BENCHMARKS_COHERENCE_CACHES_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace assay::coherence {

class caches {
 public:
  static constexpr unsigned most_processors = 64;
  static constexpr std::uintptr_t line_bytes = 64;
  static constexpr std::size_t ways = 8;
  static constexpr std::size_t sets = 4096;

  struct counts {
    std::uint64_t fetched = 0;      // lines that a processor lacked because another wrote them
    std::uint64_t claimed = 0;      // lines that it held as others did, and had to hold alone
    std::uint64_t invalidated = 0;  // copies in other caches that writes ended
    std::uint64_t from_memory = 0;  // lines that it lacked for other reasons

    // How often a processor waited for others.
    [[nodiscard]] std::uint64_t transfers() const { return fetched + claimed; }
  };

  // 1 to most_processors.
  explicit caches(unsigned processors) : sets_(processors * sets) {}

  // `processor` reads or writes bytes.
  void access(unsigned processor, const volatile void* address, std::size_t bytes, bool writes) {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    for (std::uintptr_t at = first / line_bytes; at <= (first + bytes - 1) / line_bytes; ++at) {
      line& wanted = lines_.try_emplace(at, lines_.size()).first->second;
      touch(processor, wanted, writes);
    }
  }

  // Since the beginning, or the last start_counting().
  [[nodiscard]] const counts& counted() const { return counted_; }
  // The transfers of the line that has most of them.
  [[nodiscard]] std::uint64_t transfers_of_busiest() const {
    std::uint64_t most = 0;
    for (const auto& [address, each] : lines_) most = std::max(most, each.transfers);
    return most;
  }
  // Counts from 0 on, with what is in the caches.
  void start_counting() {
    counted_ = {};
    for (auto& [address, each] : lines_) each.transfers = 0;
  }

 private:
  struct line {
    explicit line(std::size_t number_) : number(number_) {}

    std::size_t number;
    std::uint64_t holders = 0;  // a bit for each processor that may read its copy
    bool modified = false;      // by the only holder
    std::uint64_t transfers = 0;
  };

  void touch(unsigned processor, line& wanted, bool writes) {
    const std::uint64_t mine = std::uint64_t{1} << processor;
    // A line that keeps its place in a cache whose copy has ended was written by another processor.
    const bool has_place = give_place(processor, wanted);
    const bool is_held = (wanted.holders & mine) != 0;
    if (!is_held) {
      if (has_place || wanted.modified) {
        ++counted_.fetched;
        ++wanted.transfers;
      } else {
        ++counted_.from_memory;
      }
      wanted.holders |= mine;
      wanted.modified = false;
    }
    if (!writes) return;
    if (const std::uint64_t others = wanted.holders & ~mine; others != 0) {
      if (is_held) {
        ++counted_.claimed;
        ++wanted.transfers;
      }
      counted_.invalidated += static_cast<unsigned>(std::popcount(others));
    }
    wanted.holders = mine;
    wanted.modified = true;
  }

  // Whether it had one. It is now the one of its set that was used last.
  bool give_place(unsigned processor, line& wanted) {
    auto& set = sets_[processor * sets + wanted.number % sets];
    auto place = std::ranges::find(set, &wanted);
    const bool had = place != set.end();
    if (!had) {
      --place;
      if (*place != nullptr) give_up(processor, **place);
      *place = &wanted;
    }
    std::rotate(set.begin(), place, place + 1);
    return had;
  }

  static void give_up(unsigned processor, line& given_up) {
    const std::uint64_t mine = std::uint64_t{1} << processor;
    if ((given_up.holders & mine) == 0) return;
    given_up.holders &= ~mine;
    given_up.modified = false;  // written back, if it was
  }

  counts counted_;
  std::unordered_map<std::uintptr_t, line> lines_;
  std::vector<std::array<line*, ways>> sets_;  // those of a processor one after the other
};

}  // namespace assay::coherence

#endif  // BENCHMARKS_COHERENCE_CACHES_H_
