#include "assay/openmp/worksharing.h"

#include <algorithm>
#include <cstring>

#include "assay/base/point.h"
#include "assay/openmp/annotations.h"
#include "assay/openmp/reductions.h"
#include "assay/openmp/statistics.h"
#include "assay/openmp/team.h"
#include "assay/openmp/waiting.h"

// Whatever threads wait for is written and read in sequentially consistent order, as events.h asks
// for. The comments name the partners in acquire and release alone.

namespace assay::omp {
namespace {

std::uint64_t quotient_up(std::uint64_t number, std::uint64_t by) {
  return number / by + (number % by != 0 ? 1 : 0);
}

template <class Ready>
void wait_for(events& news, const Ready& ready) {
  if (ready()) return;
  statistics::wait waiting(construct::other, nullptr);
  waiting.idle();
  wait_quietly(news, ready, nullptr);
}

void set_up(workshare& here, const loop& what, unsigned threads) {
  here.what = what;
  loop& mine = here.what;
  if (mine.kind == schedule_kind::automatic) {
    mine.kind = schedule_kind::fixed;
    mine.chunk = 0;
  }
  if (mine.kind != schedule_kind::fixed) mine.chunk = std::max<std::uint64_t>(mine.chunk, 1);
  if (threads == 1) mine.ordered = false;  // it waits for nobody
  if (mine.doacross) {
    // Chunks of one size, so that an iteration's number tells its chunk. Large ones, as `guided`
    // begins with, would make the others wait.
    if (mine.kind == schedule_kind::guided) mine.kind = schedule_kind::dynamic;
    if (mine.chunk == 0) {
      mine.chunk = std::max<std::uint64_t>(quotient_up(mine.iterations, threads), 1);
    }
    here.inside = 1;
    for (const std::uint64_t count : mine.inner) here.inside *= count;
    constexpr std::size_t cells_for_each = 4;
    here.progress = std::vector<workshare::cell>(cells_for_each * threads);
  }
  here.chunks = mine.chunk == 0 ? 0 : quotient_up(mine.iterations, mine.chunk);
  here.in_any_order = mine.kind == schedule_kind::dynamic && !mine.ordered && !mine.doacross;
  here.next.store(0, memory_order_relaxed);
  here.turn.store(0, memory_order_relaxed);
}

void begin(loop_position& at, workshare* in, std::uint64_t number, unsigned id) {
  at = {.in = in, .number = number, .trip = id};
}

// doacross: how far the chunk's cell is once it has ended.
std::uint64_t end_of(const workshare& in, std::uint64_t chunk) {
  const std::uint64_t first = chunk * in.what.chunk;
  return (first + std::min(in.what.chunk, in.what.iterations - first)) * in.inside;
}

workshare::cell& cell_of(workshare& in, std::uint64_t chunk) {
  return in.progress[chunk % in.progress.size()];
}

// Says how far the thread's chunk is. What was said before stays if it is as far: the chunk may
// have been said to be done, and its cell be another chunk's by now.
void advance(workshare& in, std::uint64_t chunk, std::uint64_t to) {
  workshare::cell& cell = cell_of(in, chunk);
  if (cell.done.load(memory_order_relaxed) >= to) return;
  release(&cell);
  ASSAY_POINT("openmp_advances");
  cell.done.store(to, memory_order_seq_cst);  // (5) with (6)
  in.news.tell();
}

// Lets those go on that wait for the thread's chunk to end.
void end_chunk(loop_position& at) {
  workshare& in = *at.in;
  if (at.begin == at.end) return;
  if (in.what.ordered) {
    wait_for_turn();
    release(&in.turn);
    ASSAY_POINT("openmp_gives_turn");
    in.turn.store(at.end, memory_order_seq_cst);  // (3) with (4)
    in.news.tell();
  } else if (in.what.doacross) {
    advance(in, at.chunk, end_of(in, at.chunk));
  }
  at.begin = at.end;
}

// Which chunk of equal size is the thread's next, or one that is not.
std::uint64_t next_index(workshare& in, loop_position& at, unsigned threads) {
  // Relaxed: what it leads to was read with the place, by (1).
  if (in.what.kind == schedule_kind::dynamic) return in.next.fetch_add(1, memory_order_relaxed);
  const std::uint64_t index = at.trip;
  if (__builtin_add_overflow(at.trip, std::uint64_t{threads}, &at.trip)) at.trip = in.chunks;
  return index;
}

bool take_equal(workshare& in, loop_position& at, unsigned threads) {
  at.chunk = next_index(in, at, threads);
  ASSAY_POINT("openmp_has_a_chunk");
  if (at.chunk >= in.chunks) return false;
  const std::uint64_t first = at.chunk * in.what.chunk;
  if (in.what.doacross && at.chunk >= in.progress.size()) {
    const std::uint64_t before = end_of(in, at.chunk - in.progress.size());
    const atomic<std::uint64_t>& done = cell_of(in, at.chunk).done;
    wait_for(in.news, [&] { return done.load(memory_order_seq_cst) >= before; });  // (6)
  }
  at.begin = first;
  at.end = first + std::min(in.what.chunk, in.what.iterations - first);
  return true;
}

// schedule(static) without a chunk, as gcc divides loops itself: the first get one more.
bool take_share(const workshare& in, loop_position& at, unsigned threads, unsigned id) {
  if (at.trip != id) return false;
  at.trip += threads;
  const std::uint64_t share = in.what.iterations / threads;
  const std::uint64_t longer = in.what.iterations % threads;
  at.begin = id * share + std::min<std::uint64_t>(id, longer);
  at.end = at.begin + share + (id < longer ? 1 : 0);
  return at.begin != at.end;
}

// A part of what is left that falls to each thread, but no less than a chunk.
bool take_guided(workshare& in, loop_position& at, unsigned threads) {
  std::uint64_t first = in.next.load(memory_order_relaxed);
  std::uint64_t after = 0;
  do {
    const std::uint64_t left = in.what.iterations - first;
    if (left == 0) return false;
    after = first + std::min(left, std::max(in.what.chunk, quotient_up(left, threads)));
  } while (!in.next.compare_exchange_weak(first, after, memory_order_relaxed));
  at.begin = first;
  at.end = after;
  return true;
}

}  // namespace

void worksharing::reset() noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    places[i].owner.store(4 * i + workshare::free, memory_order_relaxed);
    places[i].left.store(0, memory_order_relaxed);
  }
}

void come_to(const loop& what, const shared_parts& parts) {
  member& mine = *self().me;
  team& all = *mine.in;
  const std::uint64_t number = mine.workshares++;
  workshare& here = all.shared.places[number % worksharing::count];
  begin(mine.loop, &here, number, mine.id);
  if (parts.reductions != nullptr) open_group(true);
  while (true) {
    // (1) with (2): what the first thread set up, or what those did that left.
    std::uint64_t owner = here.owner.load(memory_order_acquire);
    if (owner == 4 * number + workshare::ready) break;
    if (owner == 4 * number + workshare::free &&
        here.owner.compare_exchange_strong(owner, 4 * number + workshare::being_set_up,
                                           memory_order_acquire, memory_order_relaxed)) {
      ASSAY_POINT("openmp_sets_up_workshare");
      set_up(here, what, all.size);
      here.reductions = parts.reductions;
      if (parts.reductions != nullptr) register_reductions(parts.reductions, nullptr, all.size);
      if (parts.memory != nullptr) {
        const auto bytes = reinterpret_cast<std::uintptr_t>(*parts.memory);
        here.memory.assign(quotient_up(bytes, sizeof(std::max_align_t)), {});
      }
      here.owner.store(4 * number + workshare::ready, memory_order_seq_cst);  // (2) with (1)
      here.news.tell();
      if (parts.memory != nullptr) *parts.memory = here.memory.data();
      return;
    }
    if (all.cancelled.load(memory_order_relaxed)) {  // some have left without leaving the place
      mine.loop.in = nullptr;
      return;
    }
    wait_for(here.news, [&] {
      const std::uint64_t now = here.owner.load(memory_order_seq_cst);
      return now == 4 * number + workshare::ready || now == 4 * number + workshare::free ||
             all.cancelled.load(memory_order_seq_cst);
    });
  }
  if (parts.reductions != nullptr) {
    register_reductions(parts.reductions, here.reductions, all.size);
  }
  if (parts.memory != nullptr) *parts.memory = here.memory.data();
}

void bring_to(team& all, const loop& what) {
  const std::uint64_t number = all.members.front()->workshares;
  workshare& here = all.shared.places[number % worksharing::count];
  set_up(here, what, all.size);
  // Relaxed: the threads start after it.
  here.owner.store(4 * number + workshare::ready, memory_order_relaxed);
  for (const auto& each : all.members) {
    ++each->workshares;
    begin(each->loop, &here, number, each->id);
  }
}

bool take_chunk() {
  member& mine = *self().me;
  loop_position& at = mine.loop;
  if (at.in == nullptr) return false;
  workshare& in = *at.in;
  const unsigned threads = mine.in->size;
  end_chunk(at);
  if (in.what.kind == schedule_kind::guided) return take_guided(in, at, threads);
  if (in.what.chunk == 0) return take_share(in, at, threads, mine.id);
  return take_equal(in, at, threads);
}

void leave_workshare() {
  member& mine = *self().me;
  if (mine.loop.in == nullptr) return;
  workshare& in = *mine.loop.in;
  end_chunk(mine.loop);
  mine.loop.in = nullptr;
  // Acquire and release, with itself: who frees the place has seen that the others use it no more.
  if (in.left.fetch_add(1, memory_order_acq_rel) + 1 != mine.in->size) return;
  ASSAY_POINT("openmp_frees_workshare");
  in.left.store(0, memory_order_relaxed);
  const std::uint64_t next_number = mine.loop.number + worksharing::count;
  in.owner.store(4 * next_number + workshare::free, memory_order_seq_cst);  // (2) with (1)
  in.news.tell();
}

void wait_for_turn() {
  const loop_position& at = self().me->loop;
  if (at.in == nullptr || !at.in->what.ordered) return;
  workshare& in = *at.in;
  // (4) with (3): what iterations before did.
  wait_for(in.news, [&] { return in.turn.load(memory_order_seq_cst) == at.begin; });
  acquire(&in.turn);
}

void post(workshare& in, std::uint64_t outer, std::uint64_t place) {
  advance(in, outer / in.what.chunk, place + 1);
}

void wait_for_post(workshare& in, std::uint64_t outer, std::uint64_t place) {
  const std::uint64_t chunk = outer / in.what.chunk;
  if (chunk == self().me->loop.chunk) return;  // the thread's own, and before its present iteration
  const workshare::cell& cell = cell_of(in, chunk);
  // (6) with (5): what the iteration did before it posted.
  wait_for(in.news, [&] { return cell.done.load(memory_order_seq_cst) > place; });
  acquire(&cell);
}

}  // namespace assay::omp
