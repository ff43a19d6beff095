// Who takes part? The records of a domain's participants, which others read while their owners come
// and go.
//
//     struct alignas(record_alignment) my_record : record { atomic<int> announced{0}; };
//     record_list<my_record, 8> records;
//     my_record& mine = records.claim();
//     records.all([](my_record& other) { return other.announced.load(...) == 0; });
//     records.release(mine);
//
// Records stand in chunks that are only ever added, and freed with the list: whoever has found a
// record may read it from then on without protection. There may be any number of threads. A record
// that was released is claimed again before a chunk is added, so that there are never more records
// than were claimed at once, rounded up to chunks. What a record holds stays in it when its owner
// leaves.

#ifndef ASSAY_RECLAIM_RECORDS_H_
#define ASSAY_RECLAIM_RECORDS_H_

#include <array>
#include <cstddef>

#include "assay/reclaim/checks.h"
#include "assay/sync/atomics.h"

namespace assay::reclaim::detail {

// Two cache lines, because processors fetch them in pairs.
inline constexpr std::size_t record_alignment = 128;

// What every record begins with.
struct record {
  atomic<bool> claimed{false};
  usage use;
};

template <class Record, std::size_t per_chunk>
class record_list {
 public:
  record_list() = default;
  record_list(const record_list&) = delete;
  record_list& operator=(const record_list&) = delete;

  ~record_list() {
    require(all([](Record& one) { return !one.claimed.load(memory_order_acquire); }),
            "a domain is destroyed while it has participants: a handle outlives its map");
    for (chunk* one = newest_.load(memory_order_relaxed); one != nullptr;) {
      chunk* const next = one->next;
      delete one;
      one = next;
    }
  }

  // A record for the caller alone, as its last owner left it. Lock-free; throws std::bad_alloc.
  Record& claim() {
    Record* found = nullptr;
    all([&found](Record& one) {
      if (try_claim(one)) found = &one;
      return found == nullptr;
    });
    if (found != nullptr) return *found;

    auto* const added = new chunk;
    added->records[0].claimed.store(true, memory_order_relaxed);
    added->next = newest_.load(memory_order_relaxed);
    // (1) release: pairs with (2), which then sees the chunk's records initialised.
    while (!newest_.compare_exchange_weak(added->next, added, memory_order_release,
                                          memory_order_relaxed)) {
    }
    return added->records[0];
  }

  // Claims this record unless somebody has. Wait-free.
  static bool try_claim(Record& one) {
    // (3) acquire: pairs with (4), so that the last owner's plain data are seen.
    return !one.claimed.load(memory_order_relaxed) &&
           !one.claimed.exchange(true, memory_order_acquire);
  }

  // Wait-free.
  static void release(Record& one) {
    // (4) release: pairs with (3).
    one.claimed.store(false, memory_order_release);
  }

  // Visits all records that were there when the call began, claimed or not, until visit(record) is
  // false; returns whether it never was.
  template <class Visit>
  bool all(Visit visit) {
    // (2) acquire: pairs with (1). Chunks added earlier are seen through the chain of `next`: the
    // adder of each read the one before from newest_ by the same exchange that published its own,
    // and these exchanges are one release sequence.
    for (chunk* one = newest_.load(memory_order_acquire); one != nullptr; one = one->next) {
      for (Record& each : one->records) {
        if (!visit(each)) return false;
      }
    }
    return true;
  }

 private:
  struct chunk {
    std::array<Record, per_chunk> records;
    chunk* next = nullptr;
  };

  atomic<chunk*> newest_{nullptr};
};

}  // namespace assay::reclaim::detail

#endif  // ASSAY_RECLAIM_RECORDS_H_
