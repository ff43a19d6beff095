#include "assay/rig/interfere/preemption.h"

#include <link.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "assay/base/sanitizers.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/randomness.h"

namespace assay::rig {
namespace {

int preempting_signal() { return SIGRTMAX - 1; }

// What the handler needs. It runs in the thread whose it is; a signal that arrives after its scope
// finds nothing left to do.
struct timing {
  bool runs = false;
  timer_t timer{};
  random::splitmix64 draw{0};
  std::uint64_t longest_ns = 0;
  volatile unsigned left = 0;
  bool (*act)() = nullptr;  // instead of a yield
  double randomness = 0;    // if it is high, a stop instead of a yield
  stopper stopped{};
};
thread_local timing mine;

void set_timer() {
  const auto after_ns = 1 + static_cast<long>(mine.draw() % mine.longest_ns);
  const struct itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = after_ns}};
  timer_settime(mine.timer, 0, &once, nullptr);
}

// Where the code of the program itself is.
struct addresses {
  std::uintptr_t first = UINTPTR_MAX;
  std::uintptr_t end = 0;
};

addresses find_program() {
  addresses found;
  // The program's handler is called first; if it returns 1, that is enough.
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* into) {
        auto& all = *static_cast<addresses*>(into);
        for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          const std::uintptr_t first = object->dlpi_addr + part.p_vaddr;
          all.first = std::min(all.first, first);
          all.end = std::max(all.end, first + part.p_memsz);
        }
        return 1;
      },
      &found);
  return found;
}

addresses program;  // set before the first interruption

bool was_in_program(void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto at = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
  const std::uintptr_t at = registers.pc;
#else
  const std::uintptr_t at = (static_cast<void>(registers), 0);
#endif
  return program.first <= at && at < program.end;
}

void preempt() {
  if (mine.randomness == 0) {
    give_way();
    return;
  }
  mine.stopped.stop_for(draw_stop(mine.draw(), mine.randomness));
}

void handle(int, siginfo_t*, void* context) {
  if (mine.left == 0) return;
  const int kept = errno;
  if (mine.act == nullptr) {
    preempt();
    mine.left = mine.left - 1;
  } else if (was_in_program(context) && mine.act()) {
    mine.left = 0;
  }
  if (mine.left > 0) set_timer();
  errno = kept;
}

bool install() {
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  return sigaction(preempting_signal(), &action, nullptr) == 0;
}

// Lets the signals come to this thread.
void begin(std::uint64_t seed, std::uint64_t longest_ns, bool (*act)()) {
  static const bool installed = install();
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = preempting_signal();
  event._sigev_un._tid = gettid();  // glibc 2.36 has no other name for it
  mine.runs = installed && timer_create(CLOCK_MONOTONIC, &event, &mine.timer) == 0;
  if (!mine.runs) return;
  mine.draw = random::splitmix64(seed);
  mine.longest_ns = longest_ns;
  mine.act = act;
  mine.randomness = randomness();
  mine.left = 4;
  set_timer();
}

void end() {
  mine.left = 0;
  if (mine.runs) timer_delete(mine.timer);
  mine.runs = false;
}

}  // namespace

preemption::preemption(std::uint64_t seed) {
  // A signal takes some 5 us here, and comes before anything else if the time set is shorter. With
  // 5 us more, threads were inside maps without marked points together in some 30% of histories;
  // with one preemption at most, in 11 to 20%; with 15 us more, in 8 to 16%. Processors differ.
  // More than four find more, but each may wait for whatever else the machine does.
  constexpr std::array<std::uint64_t, 4> longest_ns{8'000, 10'000, 12'000, 16'000};
  random::splitmix64 draw(seed);
  const std::uint64_t longest = longest_ns.at(draw() % longest_ns.size());
  begin(draw(), longest, nullptr);
}

preemption::~preemption() { end(); }

bool interruption::possible() {
#if ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER || \
    !(defined(__x86_64__) || defined(__aarch64__))
  return false;
#else
  return true;
#endif
}

interruption::interruption(std::uint64_t seed, bool (*act)()) {
  static const addresses found = program = find_program();
  static_cast<void>(found);
  begin(seed, 50'000, act);
}

interruption::~interruption() { end(); }

}  // namespace assay::rig
