// Barriers of programs of clang, with a barrier of ours in place of libomp's, so that threads may
// run ahead of it.
//
// libomp does not say who has come to its barrier. So each parallel region is called through
// enter_region(), where its threads learn that they are a team, and meet at a barrier of ours. All
// of a team go to the same barrier, ours or libomp's, as all of them see the same:
//  - Threads of a region that libomp began without us, or that has one thread, meet at libomp's.
//    They see it by the level, which is not that of the innermost region known here.
//  - libomp runs tasks in its barrier, and knows which are left. Where one was made, each thread
//    says so as it comes to our barrier, and all go on to libomp's; from then on to libomp's alone
//    until the region ends.
// What else waits is libomp's: the end of a region, reductions, copyprivate, ordered, cancellation.
//
// A thread that runs ahead may call what is not here. That happens within the transaction, as does
// all that libomp does in it, and counts only if the transaction commits.

#include "assay/openmp/barrier.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "assay/base/atomics.h"
#include "assay/kmpc/libomp.h"
#include "assay/kmpc/thread.h"
#include "assay/openmp/entries/entry.h"
#include "assay/openmp/events.h"
#include "assay/openmp/places.h"
#include "assay/openmp/statistics.h"
#include "assay/openmp/waiting.h"

namespace assay::kmpc {

// Where a team meets. Its master keeps it for its next region.
struct meeting {
  explicit meeting(unsigned threads) : size(threads), at(threads), words(threads) {}

  const unsigned size;
  omp::barrier at;
  omp::events news;

  // What each member says at the barrier: whether it has made tasks. Two words, for even and odd
  // epochs: a member may come to the next epoch before others have read its word of this one. It
  // writes its word before it comes, and others read it after all have come.
  struct alignas(64) word {
    std::array<bool, 2> made_tasks{};
  };
  std::vector<word> words;
  alignas(64) atomic<bool> tasks{false};  // somebody made one in this region

  [[nodiscard]] bool made_tasks(std::uint32_t epoch) const {
    return std::ranges::any_of(words,
                               [epoch](const word& each) { return each.made_tasks[epoch % 2]; });
  }
};

struct region {
  outlined function;
  std::vector<void*> words;  // that it captures
  std::size_t count;         // of these words; 4 stand there at least
  int level;
  mutable atomic<meeting*> team;
};

// NOLINTBEGIN(bugprone-reserved-identifier): libomp's names, and the assembler's

// Calls a region's function with the words of an array, 4 of them at least: the first four go in
// registers, as the ABI of x86-64 has it, and the others on the stack, the last of them first.
extern "C" void assay_kmpc_call(outlined function, std::int32_t* global_number,
                                std::int32_t* bound_number, std::size_t count, void* const* words);
__asm__(R"(
  .pushsection .text
  .p2align 4
  .hidden assay_kmpc_call
  .globl assay_kmpc_call
  .type assay_kmpc_call, @function
assay_kmpc_call:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  cmpq $4, %rcx
  jbe 2f
  testb $1, %cl
  jz 1f
  pushq $0
1:
  pushq -8(%r8,%rcx,8)
  decq %rcx
  cmpq $4, %rcx
  ja 1b
2:
  movq 0(%r8), %rdx
  movq 8(%r8), %rcx
  movq 24(%r8), %r9
  movq 16(%r8), %r8
  call *%rax
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size assay_kmpc_call, . - assay_kmpc_call
  .popsection
)");

namespace {

constexpr std::size_t in_registers = 4;

// The meeting of a team of that size: the one that its master kept, if it fits.
meeting* meeting_of(const region& in, unsigned size) {
  meeting* found = in.team.load(memory_order_acquire);  // (1) with (2)
  while (found == nullptr || found->size != size) {
    auto fresh = std::make_unique<meeting>(size);
    if (in.team.compare_exchange_strong(found, fresh.get(), memory_order_acq_rel,  // (2) with (1)
                                        memory_order_acquire)) {
      return fresh.release();
    }
  }
  return found;
}

// What libomp calls in place of a region's function, in each of its threads.
void enter_region(std::int32_t* global_number, std::int32_t* bound_number, const region* in) {
  thread& mine = self();
  const auto size = static_cast<unsigned>(real().num_threads());
  const thread around = mine;
  mine.in = size > 1 ? in : nullptr;
  mine.team = size > 1 ? meeting_of(*in, size) : nullptr;
  mine.number = static_cast<unsigned>(real().thread_num());
  mine.made_tasks = false;
  mine.tasks = false;
  if (size > 1) mine.team->words[mine.number] = {};
  // Relaxed: a number that stands for itself.
  const int more = mine.number == 0 ? static_cast<int>(size) - 1 : 0;
  if (more != 0) omp::in_teams.fetch_add(more, memory_order_relaxed);
  assay_kmpc_call(in->function, global_number, bound_number, in->count, in->words.data());
  enter();
  if (more != 0) omp::in_teams.fetch_sub(more, memory_order_relaxed);
  mine.in = around.in;
  mine.team = around.team;
  mine.number = around.number;
  mine.made_tasks = around.made_tasks || mine.made_tasks;
  mine.tasks = around.tasks;
}

bool is_over(const omp::prediction& epoch) {
  const auto& team = *static_cast<const meeting*>(epoch.of);
  return team.at.has_ended(epoch.number) && !team.made_tasks(epoch.number);
}

// True if the team has made tasks.
bool wait_at(meeting& team, thread& mine, const void* from) {
  omp::place* const at = omp::may_run_ahead() ? &omp::place_of(from) : nullptr;
  bool& said = team.words[mine.number].made_tasks[team.at.next(mine.number) % 2];
  if (said != mine.made_tasks) said = mine.made_tasks;  // others read the line all the time
  const std::uint32_t epoch = team.at.arrive(mine.number);
  if (at != nullptr && mine.number == 0) omp::record_arrival(*at, epoch);
  if (team.at.has_ended(epoch)) {
    team.news.tell();
    return team.made_tasks(epoch);
  }
  // Tasks are run in libomp's barrier: who waits goes there as soon as there may be some. The flag
  // first: if the epoch has not ended after that, then who made the task has not come to it yet, or
  // has said so when it came. So all others go there, too.
  const auto passed = [&] {
    return team.tasks.load(memory_order_seq_cst) || team.at.has_ended(epoch);
  };
  if (at != nullptr && omp::pays_at_barrier(*at) && !passed() &&
      omp::run_ahead(mine.ahead,
                     {.made_at = at, .came_true = is_over, .of = &team, .number = epoch})) {
    return false;
  }
  {
    omp::statistics::wait waiting(omp::construct::barrier, from);
    waiting.idle();
    omp::wait_quietly(team.news, passed, from);
  }
  return !team.at.has_ended(epoch) || team.made_tasks(epoch);
}

void note_task() {
  thread& mine = enter();
  mine.made_tasks = true;
  omp::statistics::used(omp::construct::task);
  if (mine.team == nullptr || mine.team->tasks.load(memory_order_relaxed)) return;
  mine.team->tasks.store(true, memory_order_seq_cst);
  mine.team->news.tell();
}

}  // namespace

thread& self() noexcept {
  [[gnu::tls_model("initial-exec")]] static thread_local constinit thread mine;
  return mine;
}

ASSAY_OPENMP_ENTRY void __kmpc_fork_call(void* place, std::int32_t count, outlined function, ...) {
  enter();
  omp::statistics::used(omp::construct::parallel);
  // A master keeps the meeting of its last region for the next one. While it is in a region it
  // keeps none, so that a region inside makes and keeps its own.
  static thread_local std::unique_ptr<meeting> kept;
  std::unique_ptr<meeting> before = std::move(kept);
  if (before != nullptr) before->tasks.store(false, memory_order_relaxed);
  region begun{.function = function,
               .words = {},
               .count = static_cast<std::size_t>(count),
               .level = real().level() + 1,
               .team = before.get()};
  begun.words.resize(std::max(begun.count, in_registers));
  std::va_list words;
  va_start(words, function);
  for (std::size_t i = 0; i < begun.count; ++i) begun.words[i] = va_arg(words, void*);
  va_end(words);
  real().fork_call(place, 1, reinterpret_cast<outlined>(enter_region), &begun);
  // Relaxed: the thread is alone again. If it has another one now, the first was too small.
  meeting* const used = begun.team.load(memory_order_relaxed);
  if (used == before.get()) {
    kept = std::move(before);
  } else {
    kept.reset(used);
  }
}

ASSAY_OPENMP_ENTRY void __kmpc_barrier(void* place, std::int32_t number) {
  thread& mine = enter();
  omp::statistics::used(omp::construct::barrier);
  const bool ours = mine.in != nullptr && !mine.tasks && real().level() == mine.in->level;
  if (ours) {
    const void* const from = omp::in_program(__builtin_return_address(0),
                                             reinterpret_cast<const void*>(mine.in->function));
    mine.tasks = wait_at(*mine.team, mine, from);
  }
  if (!ours || mine.tasks) real().barrier(place, number);
}

ASSAY_OPENMP_ENTRY void* __kmpc_omp_task_alloc(void* place, std::int32_t number, std::int32_t flags,
                                               std::size_t bytes, std::size_t shared_bytes,
                                               void* entry) {
  note_task();
  return real().task_alloc(place, number, flags, bytes, shared_bytes, entry);
}
ASSAY_OPENMP_ENTRY void* __kmpc_omp_target_task_alloc(void* place, std::int32_t number,
                                                      std::int32_t flags, std::size_t bytes,
                                                      std::size_t shared_bytes, void* entry,
                                                      std::int64_t device) {
  note_task();
  return real().target_task_alloc(place, number, flags, bytes, shared_bytes, entry, device);
}
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace assay::kmpc
