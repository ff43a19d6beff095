// Does a set of unique entries keep what ELB-trees promise? They are not linearizable; what they
// promise instead are theorems A.12 to A.16 of Bonnichsen 2016 (assay/maps/elb_tree.h), which tell
// of each answer by itself.
//
//     const stamp_clock clock;
//     const entry_history seen = record_entries(set, {.seed = 7}, clock);
//     if (const auto broken = broken_promise(seen, 31)) std::puts(broken->c_str());
//
// Let a call last from t1 to t2. An entry was *there all the time* if its insert had returned
// before t1 and no erase that returned it was called before t2; it was *there at some time* unless
// its insert was called after t2 or an erase had returned it before t1. When exactly inserts and
// erases take effect is not known: so of an entry that is neither nothing is asked.
//
// - A search or an erase that finds none: none in its range was there all the time (A.12, A.14).
// - One that finds an entry: it is in the range, and was there at some time (A.13, A.15).
// - An erase: none in the range that is smaller was there all the time (A.15); of erase_near(), at
//   most this many. An entry is returned by one erase.
// - A visit: in ascending order all in the range that were there all the time, and others that were
//   at some time.
// - The walk at the end: what was inserted and not erased (A.16).
//
// An entry is inserted once in a history, as it is numbered by its thread, so that it is known
// which answer is about which insert. Keys are few, so that threads meet.

#ifndef ASSAY_RIG_ENTRY_HISTORIES_H_
#define ASSAY_RIG_ENTRY_HISTORIES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/rig/clock.h"

namespace assay::rig {

struct entry_call {
  enum class kind : std::uint8_t { insert, search, erase, erase_near, visit };

  kind asked;
  std::uint64_t lo;  // of an insert, the entry
  std::uint64_t hi;
  std::optional<std::uint64_t> found{};  // by a search or an erase
  std::vector<std::uint64_t> visited{};
  std::int64_t call_ns = 0;
  std::int64_t return_ns = 0;
};

// The set held nothing before the first call.
struct entry_history {
  std::vector<entry_call> calls;   // in any order
  std::vector<std::uint64_t> end;  // what a walk met after all of them, in its order
};

// The first promise that the history shows to be broken, in words. `near` is how many smaller
// entries an erase_near() may pass over. Takes n log n steps, if visits see as much as there is.
// Throws std::invalid_argument if an entry is inserted twice.
[[nodiscard]] std::optional<std::string> broken_promise(const entry_history& seen,
                                                        std::size_t near);

// The ranges that a set supports: between any two entries; of one entry or one key, and in an
// erase of all from a key on; of all entries, by erases alone. A key is 2^32 entries.
enum class entry_ranges : std::uint8_t { any, of_keys, all };

// Entries are up to this.
inline constexpr std::uint64_t greatest_entry = (std::uint64_t{1} << 52) - 1;

struct entry_recording {
  std::uint64_t seed;
  unsigned threads = 4;
  std::uint64_t operations = 3000;  // of each thread
  std::uint64_t keys = 12;          // at most 2^20
  entry_ranges over = entry_ranges::any;
};

// Makes a call of a thread, and keeps what it answers in it.
using entry_caller = std::function<void(entry_call& call)>;

// Random calls by threads that are disturbed at marked points (disturbance.h) and taken off their
// processors (preemption.h), each by its own caller. The set grows and shrinks several times.
[[nodiscard]] std::vector<entry_call> record_calls(const std::function<entry_caller()>& attach,
                                                   const entry_recording& asked,
                                                   const stamp_clock& clock);

// The same of a set that holds nothing at first, with its end: attach() is a pointer to what has
// the functions of an elb_tree's handle with numbers as entries, and walk() is all that is held.
template <class Set>
[[nodiscard]] entry_history record_entries(Set& set, const entry_recording& asked,
                                           const stamp_clock& clock) {
  const auto attach = [&set]() -> entry_caller {
    return [handle = std::shared_ptr(set.attach())](entry_call& call) {
      using kind = entry_call::kind;
      switch (call.asked) {
        case kind::insert:
          return handle->insert(call.lo);
        case kind::search:
          call.found = handle->search(call.lo, call.hi);
          return;
        case kind::erase:
          call.found = handle->erase(call.lo, call.hi);
          return;
        case kind::erase_near:
          call.found = handle->erase_near(call.lo, call.hi);
          return;
        case kind::visit:
          call.visited = handle->visit(call.lo, call.hi);
      }
    };
  };
  std::vector<entry_call> calls = record_calls(attach, asked, clock);
  return {.calls = std::move(calls), .end = set.walk()};
}

}  // namespace assay::rig

#endif  // ASSAY_RIG_ENTRY_HISTORIES_H_
