// Who takes part? The records of a domain's participants, which others read while their owners come
// and go.
//
//     struct alignas(record_alignment) my_record : record { atomic<int> announced{0}; };
//     record_list<my_record, 8> records;
//     my_record& mine = records.claim();
//     records.all([](my_record& other) { return other.announced.load(...) == 0; });
//     records.release(mine);
//
// Records are in chunks that are only ever added, and freed with the list: whoever has found a
// record may read it from then on without protection. There may be any number of threads. What a
// record holds stays in it when its owner leaves.
//
// A chunk is added only by a thread that has met every record there is, and each was claimed when
// it was met. So while threads only join there are no more records than threads, rounded up to
// chunks, and one by one they may come and go for ever without another chunk. A thread that joins
// while others leave, or claim what others have left, can pass by a record just before it is
// released, and add a chunk nevertheless.

#ifndef ASSAY_RECLAIM_RECORDS_H_
#define ASSAY_RECLAIM_RECORDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "assay/base/atomics.h"
#include "assay/reclaim/checks.h"

namespace assay::reclaim::inline ASSAY_ABI::detail {

// Two cache lines, because processors fetch them in pairs.
inline constexpr std::size_t record_alignment = 128;

// What every record begins with.
struct record_base {
  atomic<bool> claimed{false};
  atomic<std::uint64_t> waiting{0};  // nodes retired and not freed; written by the owner
  usage use;
};

template <class Record, std::size_t per_chunk>
class record_list {
 public:
  record_list() = default;
  record_list(const record_list&) = delete;
  record_list& operator=(const record_list&) = delete;

  ~record_list() {
    if constexpr (misuse::checks) {
      misuse::require(all([](Record& one) { return !one.claimed.load(memory_order_acquire); }),
                      "a map or domain is destroyed before its handles or participants are");
    }
    for (chunk* one = newest_.load(memory_order_relaxed); one != nullptr;) {
      chunk* const next = one->next;
      delete one;
      one = next;
    }
  }

  // A record for the caller alone, as its last owner left it. Lock-free; throws std::bad_alloc.
  Record& claim() {
    std::unique_ptr<chunk> added;
    while (true) {
      chunk* newest = newest_.load(memory_order_acquire);  // as (2)
      Record* found = nullptr;
      visit_from(newest, [&found](Record& one) {
        if (try_claim(one)) found = &one;
        return found == nullptr;
      });
      if (found != nullptr) return *found;

      if (added == nullptr) {
        added = std::make_unique<chunk>();
        added->records[0].claimed.store(true, memory_order_relaxed);
      }
      added->next = newest;
      // (1) release: pairs with (2), which then sees the chunk's records initialised. Where another
      // chunk came first, its records are tried.
      if (newest_.compare_exchange_strong(newest, added.get(), memory_order_release,
                                          memory_order_relaxed)) {
        return added.release()->records[0];
      }
    }
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
    return visit_from(newest_.load(memory_order_acquire), visit);
  }
  template <class Visit>
  bool all(Visit visit) const {
    const chunk* const newest = newest_.load(memory_order_acquire);  // as (2)
    return visit_from(newest, visit);
  }

  // How many retired nodes wait in all records. Wait-free.
  [[nodiscard]] std::uint64_t waiting() const {
    std::uint64_t nodes = 0;
    all([&nodes](const Record& one) {
      nodes += one.waiting.load(memory_order_relaxed);  // an estimate: pairs with nothing
      return true;
    });
    return nodes;
  }

 private:
  struct chunk {
    std::array<Record, per_chunk> records;
    chunk* next = nullptr;
  };

  template <class Chunk, class Visit>
  static bool visit_from(Chunk* one, Visit visit) {
    for (; one != nullptr; one = one->next) {
      for (auto& each : one->records) {
        if (!visit(each)) return false;
      }
    }
    return true;
  }

  atomic<chunk*> newest_{nullptr};
};

}  // namespace assay::reclaim::inline ASSAY_ABI::detail

#endif  // ASSAY_RECLAIM_RECORDS_H_
