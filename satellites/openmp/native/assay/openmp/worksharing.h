// Loops, sections and scopes, whose work a team shares.
//
// The constructs that a team comes to are numbered, and each uses one of a few places in turn: with
// nowait, a thread may be some constructs ahead of the others. The first thread to come sets the
// place up, the last one to leave frees it for the construct that uses it next. A thread that is as
// many constructs ahead as there are places waits.
//
// Iterations are numbered from 0 as well, whatever type, direction and stride the program's loop
// has: nothing below knows of these, and no bound overflows.

#ifndef ASSAY_OPENMP_WORKSHARING_H_
#define ASSAY_OPENMP_WORKSHARING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "assay/base/atomics.h"
#include "assay/openmp/events.h"
#include "assay/openmp/settings.h"

namespace assay::omp {

struct member;
struct team;

// What the threads of a team do at a loop. All of them bring the same; that of the first counts.
struct loop {
  std::uint64_t start = 0;  // as the program has them; a step down is one around 2^64
  std::uint64_t end = 0;
  std::uint64_t step = 1;
  std::uint64_t iterations = 0;
  schedule_kind kind = schedule_kind::dynamic;
  std::uint64_t chunk = 1;  // 0: one piece for each thread if the schedule is static
  bool ordered = false;
  std::vector<std::uint64_t> inner;  // ordered(n): iterations of the loops inside of it
  bool doacross = false;

  // The program's value before iteration `number`. The last chunk ends where the program's loop
  // does, as a further stride might overflow.
  [[nodiscard]] std::uint64_t value(std::uint64_t number) const noexcept {
    return number == iterations ? end : start + number * step;
  }
};

// Besides iterations, what threads share there.
struct shared_parts {
  std::uintptr_t* reductions = nullptr;  // of tasks (reductions.h)
  void** memory = nullptr;               // where gcc has the size, and gets the address
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what is written often stands apart
struct workshare {
  static constexpr std::size_t line = 64;

  // Whose it is: 4 * the construct's number + the state.
  static constexpr std::uint64_t free = 0;
  static constexpr std::uint64_t being_set_up = 1;
  static constexpr std::uint64_t ready = 2;
  alignas(line) atomic<std::uint64_t> owner{free};

  // Constant while it is ready.
  loop what;
  std::uint64_t chunks = 0;              // if all chunks have the same size
  bool in_any_order = false;             // dynamic, and no chunk waits for another
  std::uint64_t inside = 1;              // doacross: iterations of the inner loops, in all
  std::uintptr_t* reductions = nullptr;  // of the first thread
  std::vector<std::max_align_t> memory;

  alignas(line) atomic<unsigned> left{0};       // threads that have left it
  alignas(line) atomic<std::uint64_t> next{0};  // chunk; guided: iteration
  alignas(line) atomic<std::uint64_t> turn{0};  // ordered: the chunk that begins here may go on
  events news;                                  // of owner, turn and progress

  // doacross: how many iterations, inner ones included and counted from the loop's start, are done
  // up to the last that was posted. By chunk, in turn: a chunk is not begun before the one that had
  // its cell has ended, so that one that is waited for is never overwritten.
  struct alignas(line) cell {
    atomic<std::uint64_t> done{0};
  };
  std::vector<cell> progress;
};

// A thread in the workshare that it is in.
struct loop_position {
  workshare* in = nullptr;
  std::uint64_t number = 0;  // of the construct
  std::uint64_t trip = 0;    // static: of its next chunk
  std::uint64_t chunk = 0;   // its chunk and, from `begin` to `end`, the iterations in it
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct worksharing {
  static constexpr std::size_t count = 8;
  std::array<workshare, count> places;

  worksharing() { reset(); }
  // Between two regions, after one that threads left without leaving their constructs.
  void reset() noexcept;
  // Wakes threads that wait for a place, as it will not come: the region was cancelled.
  void give_up() noexcept {
    for (workshare& each : places) each.news.tell();
  }
};

// Has the calling thread come to a construct. It waits only if it is too far ahead.
void come_to(const loop& what, const shared_parts& parts = {});
// The same for all of a team, before its threads start.
void bring_to(team& all, const loop& what);
// The thread's next iterations, in its position; false if it gets no more.
[[nodiscard]] bool take_chunk();

// The same for a loop whose chunks are taken in any order: the chunk's number, which may be beyond
// the last. Nobody waits for it, so that the position stays as it is.
inline std::uint64_t take_any(workshare& in, unsigned threads) noexcept {
  // Relaxed: what it leads to was read with the place.
  if (threads > 1) return in.next.fetch_add(1, memory_order_relaxed);
  const std::uint64_t number = in.next.load(memory_order_relaxed);
  in.next.store(number + 1, memory_order_relaxed);
  return number;
}
// Has the thread leave the construct.
void leave_workshare();

// ordered: returns when all iterations before the thread's chunk are done.
void wait_for_turn();

// doacross. Where an iteration is in all of them, given the numbers of its loops, outermost first.
template <class Number>
std::uint64_t place_among(const workshare& in, std::uint64_t outer, const Number& inner) {
  std::uint64_t at = outer;
  for (std::size_t i = 0; i < in.what.inner.size(); ++i) at = at * in.what.inner[i] + inner(i);
  return at;
}
void post(workshare& in, std::uint64_t outer, std::uint64_t place);
void wait_for_post(workshare& in, std::uint64_t outer, std::uint64_t place);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_WORKSHARING_H_
