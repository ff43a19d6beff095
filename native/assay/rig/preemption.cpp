#include "assay/rig/preemption.h"

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "assay/random/splitmix64.h"

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
};
thread_local timing mine;

void set_timer() {
  const auto after_ns = 1 + static_cast<long>(mine.draw() % mine.longest_ns);
  const struct itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = after_ns}};
  timer_settime(mine.timer, 0, &once, nullptr);
}

void yield(int) {
  if (mine.left == 0) return;
  const int kept = errno;
  sched_yield();
  mine.left = mine.left - 1;
  if (mine.left > 0) set_timer();
  errno = kept;
}

bool install() {
  struct sigaction action{};
  action.sa_handler = yield;
  action.sa_flags = SA_RESTART;
  return sigaction(preempting_signal(), &action, nullptr) == 0;
}

}  // namespace

preemption::preemption(std::uint64_t seed) {
  static const bool installed = install();
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = preempting_signal();
  event._sigev_un._tid = gettid();  // glibc 2.36 has no other name for it
  mine.runs = installed && timer_create(CLOCK_MONOTONIC, &event, &mine.timer) == 0;
  if (!mine.runs) return;
  mine.draw = random::splitmix64(seed);
  // A signal takes some 5 us here, and comes before anything else if the time set is shorter. With
  // 5 us more, threads were inside maps without marked points together in some 30% of histories;
  // with one preemption at most, in 11 to 20%; with 15 us more, in 8 to 16%. Processors differ.
  // More than four find more, but each may wait for whatever else the machine does.
  constexpr std::array<std::uint64_t, 4> longest_ns{8'000, 10'000, 12'000, 16'000};
  mine.longest_ns = longest_ns.at(mine.draw() % longest_ns.size());
  mine.left = 4;
  set_timer();
}

preemption::~preemption() {
  mine.left = 0;
  if (mine.runs) timer_delete(mine.timer);
  mine.runs = false;
}

}  // namespace assay::rig
