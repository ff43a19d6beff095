// What assay-rtm loads into a program: starts the engine, and keeps the signals that it needs from
// being blocked or taken. It is initialised before all other libraries (-z initfirst), as those ask
// CPUID when they are.

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
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

int for_each_object(int (*visit)(dl_phdr_info*, std::size_t, void*), void* with) {
  const int result = ::dl_iterate_phdr(visit, with);
  asm volatile(
      "");  // no tail call: the function looks where it returns to, for which program it is
  return result;
}

stack_range this_stack() {
  pthread_attr_t about;
  if (::pthread_getattr_np(::pthread_self(), &about) != 0) return {};
  void* first = nullptr;
  std::size_t bytes = 0;
  ::pthread_attr_getstack(&about, &first, &bytes);
  ::pthread_attr_destroy(&about);
  const auto from = reinterpret_cast<std::uint64_t>(first);
  return {.first = from, .last = from + bytes};
}

// The next definition of a function that this library replaces.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

sigset_t without_ours(const sigset_t& set) {
  sigset_t rest = set;
  if (engine == nullptr) return rest;
  for (const int signal : {SIGILL, SIGSEGV, engine->reserved_signal}) {
    if (engine->is_taken(signal)) ::sigdelset(&rest, signal);
  }
  return rest;
}

// The same for a set that a function is given, which may be none.
class allowed {
 public:
  explicit allowed(const sigset_t* set) : given_(set != nullptr) {
    if (given_) rest_ = without_ours(*set);
  }
  [[nodiscard]] const sigset_t* get() const { return given_ ? &rest_ : nullptr; }

 private:
  bool given_;
  sigset_t rest_{};
};

[[gnu::constructor]] void start(int /*count*/, char** /*arguments*/, char** variables) {
  ::environ =
      variables;  // which the C library, not yet initialised, hands on to that of the engine
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&start), &here) == 0) std::abort();
  const std::string mine(here.dli_fname);
  const std::string path = mine.substr(0, mine.rfind('/') + 1) + "libassay_rtm_engine.so";
  static const program_side side{
      .new_thread = new_thread, .for_each_object = for_each_object, .this_stack = this_stack};
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
  if (engine == nullptr || engine->report()) return;
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);  // a program whose record is lost has not done what it was started for
}

}  // namespace
}  // namespace assay::emulation

using assay::emulation::allowed;
using assay::emulation::engine;
using assay::emulation::next;
using assay::emulation::without_ours;

extern "C" {

// That transactions work here although cpuid denies it (assay/locks/transaction.h looks for it).
[[gnu::visibility("default")]] extern const int assay_rtm_emulation = 1;

[[gnu::visibility("default")]] int sigaction(int signal, const struct sigaction* wanted,
                                             struct sigaction* before) noexcept {
  static auto* const real = next<int(int, const struct sigaction*, struct sigaction*)>("sigaction");
  if (engine == nullptr) return real(signal, wanted, before);
  if (engine->is_taken(signal)) return engine->action(signal, wanted, before);
  if (wanted == nullptr) return real(signal, wanted, before);
  struct sigaction rest = *wanted;
  rest.sa_mask = without_ours(wanted->sa_mask);
  return real(signal, &rest, before);
}

[[gnu::visibility("default")]] sighandler_t signal(int signal, sighandler_t handler) noexcept {
  static auto* const real = next<sighandler_t(int, sighandler_t)>("signal");
  if (engine == nullptr || !engine->is_taken(signal)) return real(signal, handler);
  struct sigaction wanted{};
  wanted.sa_handler = handler;
  struct sigaction before{};
  engine->action(signal, &wanted, &before);
  return before.sa_handler;
}

[[gnu::visibility("default")]] int pthread_sigmask(int how, const sigset_t* set,
                                                   sigset_t* before) noexcept {
  static auto* const real = next<int(int, const sigset_t*, sigset_t*)>("pthread_sigmask");
  const allowed rest(how == SIG_UNBLOCK ? nullptr : set);
  return real(how, how == SIG_UNBLOCK ? set : rest.get(), before);
}

[[gnu::visibility("default")]] int sigprocmask(int how, const sigset_t* set,
                                               sigset_t* before) noexcept {
  static auto* const real = next<int(int, const sigset_t*, sigset_t*)>("sigprocmask");
  const allowed rest(how == SIG_UNBLOCK ? nullptr : set);
  return real(how, how == SIG_UNBLOCK ? set : rest.get(), before);
}

[[gnu::visibility("default")]] int pthread_attr_setsigmask_np(pthread_attr_t* about,
                                                              const sigset_t* set) {
  static auto* const real =
      next<int(pthread_attr_t*, const sigset_t*)>("pthread_attr_setsigmask_np");
  return real(about, allowed(set).get());
}

// What waits with a mask of its own,

[[gnu::visibility("default")]] int sigsuspend(const sigset_t* set) {
  static auto* const real = next<int(const sigset_t*)>("sigsuspend");
  return real(allowed(set).get());
}

[[gnu::visibility("default")]] int pselect(int count, fd_set* readable, fd_set* writable,
                                           fd_set* exceptional, const timespec* timeout,
                                           const sigset_t* set) {
  static auto* const real =
      next<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>("pselect");
  return real(count, readable, writable, exceptional, timeout, allowed(set).get());
}

[[gnu::visibility("default")]] int ppoll(pollfd* files, nfds_t count, const timespec* timeout,
                                         const sigset_t* set) {
  static auto* const real = next<int(pollfd*, nfds_t, const timespec*, const sigset_t*)>("ppoll");
  return real(files, count, timeout, allowed(set).get());
}

[[gnu::visibility("default")]] int epoll_pwait(int file, epoll_event* events, int most, int timeout,
                                               const sigset_t* set) {
  static auto* const real = next<int(int, epoll_event*, int, int, const sigset_t*)>("epoll_pwait");
  return real(file, events, most, timeout, allowed(set).get());
}

// or for signals, and would take ours as one of them.

[[gnu::visibility("default")]] int sigwait(const sigset_t* set, int* found) {
  static auto* const real = next<int(const sigset_t*, int*)>("sigwait");
  return real(allowed(set).get(), found);
}

[[gnu::visibility("default")]] int sigwaitinfo(const sigset_t* set, siginfo_t* found) {
  static auto* const real = next<int(const sigset_t*, siginfo_t*)>("sigwaitinfo");
  return real(allowed(set).get(), found);
}

[[gnu::visibility("default")]] int sigtimedwait(const sigset_t* set, siginfo_t* found,
                                                const timespec* timeout) {
  static auto* const real = next<int(const sigset_t*, siginfo_t*, const timespec*)>("sigtimedwait");
  return real(allowed(set).get(), found, timeout);
}

}  // extern "C"
