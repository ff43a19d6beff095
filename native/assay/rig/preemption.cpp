#include "assay/rig/preemption.h"

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace assay::rig {
namespace {

int preempting_signal() { return SIGRTMAX - 1; }

void yield(int) {
  const int kept = errno;
  sched_yield();
  errno = kept;
}

bool install() {
  struct sigaction action{};
  action.sa_handler = yield;
  action.sa_flags = SA_RESTART;
  return sigaction(preempting_signal(), &action, nullptr) == 0;
}

}  // namespace

preemption::preemption(long after_ns) {
  static const bool installed = install();
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = preempting_signal();
  event._sigev_un._tid = gettid();  // glibc 2.36 has no other name for it
  if (!installed || timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) return;
  runs_ = true;
  const struct itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = after_ns}};
  timer_settime(timer_, 0, &once, nullptr);
}

preemption::~preemption() {
  if (runs_) timer_delete(timer_);
}

}  // namespace assay::rig
