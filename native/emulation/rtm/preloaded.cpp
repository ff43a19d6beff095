// What assay-rtm loads into a program: starts the engine, and keeps the two signals that it needs
// from being blocked or taken.

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "emulation/rtm/engine.h"

namespace assay::emulation {
namespace {

const engine_side* engine = nullptr;

// One in each thread that has begun a transaction.
struct thread_end {
  bool is_wanted = false;
  ~thread_end() {
    if (is_wanted && engine != nullptr) engine->end_thread();
  }
};
thread_local thread_end at_end;

void new_thread() { at_end.is_wanted = true; }

// The next definition of a function that this library replaces.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

sigset_t without_ours(const sigset_t& set) {
  sigset_t rest = set;
  ::sigdelset(&rest, SIGILL);
  if (engine != nullptr) ::sigdelset(&rest, engine->reserved_signal);
  return rest;
}

[[gnu::constructor]] void start() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&start), &here) == 0) std::abort();
  const std::string mine(here.dli_fname);
  const std::string path = mine.substr(0, mine.rfind('/') + 1) + "libassay_rtm_engine.so";
  static const program_side side{.new_thread = new_thread};
  void* const library = ::dlmopen(LM_ID_NEWLM, path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) {
    if (auto* const start_it = reinterpret_cast<start_engine*>(::dlsym(library, engine_entry))) {
      engine = start_it(&side);
    }
  }
  if (engine == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before main()
    const char* const why = library == nullptr ? ::dlerror() : "it cannot handle SIGILL";
    std::fprintf(stderr, "assay-rtm: cannot start: %s\n", why);
    std::_Exit(EXIT_FAILURE);
  }
}

[[gnu::destructor]] void end() {
  if (engine != nullptr) engine->report();
}

}  // namespace
}  // namespace assay::emulation

using assay::emulation::engine;
using assay::emulation::next;
using assay::emulation::without_ours;

extern "C" {

// That transactions work here although cpuid denies it (assay/sync/transaction.h looks for it).
[[gnu::visibility("default")]] extern const int assay_rtm_emulation = 1;

[[gnu::visibility("default")]] int sigaction(int signal, const struct sigaction* wanted,
                                             struct sigaction* before) noexcept {
  static auto* const real = next<int(int, const struct sigaction*, struct sigaction*)>("sigaction");
  if (engine != nullptr && signal == SIGILL) return engine->illegal_action(wanted, before);
  return real(signal, wanted, before);
}

[[gnu::visibility("default")]] sighandler_t signal(int signal, sighandler_t handler) noexcept {
  static auto* const real = next<sighandler_t(int, sighandler_t)>("signal");
  if (engine == nullptr || signal != SIGILL) return real(signal, handler);
  struct sigaction wanted{};
  wanted.sa_handler = handler;
  struct sigaction before{};
  engine->illegal_action(&wanted, &before);
  return before.sa_handler;
}

[[gnu::visibility("default")]] int pthread_sigmask(int how, const sigset_t* set,
                                                   sigset_t* before) noexcept {
  static auto* const real = next<int(int, const sigset_t*, sigset_t*)>("pthread_sigmask");
  if (set == nullptr || how == SIG_UNBLOCK) return real(how, set, before);
  const sigset_t rest = without_ours(*set);
  return real(how, &rest, before);
}

[[gnu::visibility("default")]] int sigprocmask(int how, const sigset_t* set,
                                               sigset_t* before) noexcept {
  static auto* const real = next<int(int, const sigset_t*, sigset_t*)>("sigprocmask");
  if (set == nullptr || how == SIG_UNBLOCK) return real(how, set, before);
  const sigset_t rest = without_ours(*set);
  return real(how, &rest, before);
}

}  // extern "C"
