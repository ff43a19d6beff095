#include "assay/rig/watch/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/rig/history.h"
#include "assay/rig/watch/allocated.h"
#include "assay/rig/watch/lock_order.h"
#include "assay/rig/watch/thread_state.h"
#include "assay/workload/operations.h"

namespace assay::rig {

using subject::any_handle;
using subject::any_map;
using subject::progress;
using subject::question;

std::chrono::milliseconds patience() {
  static const std::chrono::milliseconds chosen = [] {
    constexpr std::chrono::milliseconds usual{10'000};
    // Nobody changes the environment while threads run.
    const char* const given = std::getenv("ASSAY_RIG_PATIENCE");  // NOLINT(concurrency-mt-unsafe)
    if (given == nullptr) return usual;
    char* end = nullptr;
    const double seconds = std::strtod(given, &end);
    if (end == given || *end != '\0' || !(seconds > 0 && seconds < 1e6)) {
      throw std::invalid_argument("ASSAY_RIG_PATIENCE is not a number of seconds: " +
                                  std::string(given));
    }
    return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
  }();
  return chosen;
}

void watchdog::post::enter(const question& asked) {
  constexpr auto relaxed = std::memory_order_relaxed;
  call.store(nullptr, relaxed);
  of_batch.store(false, relaxed);
  kind.store(asked.kind, relaxed);
  key.store(asked.key, relaxed);
  value.store(asked.value, relaxed);
  last.store(asked.last, relaxed);
  leave();
}

void watchdog::post::enter(const char* what) {
  call.store(what, std::memory_order_relaxed);
  leave();
}

void watchdog::post::leave() {
  steps.store(steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

watchdog::call watchdog::post::now() const {
  constexpr auto relaxed = std::memory_order_relaxed;
  watchdog::call seen{.thread = thread.load(relaxed), .steps = steps.load(relaxed)};
  if (seen.steps % 2 == 0) return seen;
  if (const char* const what = call.load(relaxed)) {
    seen.inside_of = what;
  } else if (of_batch.load(relaxed)) {
    seen.inside_of =
        workload::facts_of(kind.load(relaxed)).name + '(' + std::to_string(key.load(relaxed)) + ')';
  } else {
    seen.asked = {.kind = kind.load(relaxed),
                  .key = key.load(relaxed),
                  .value = value.load(relaxed),
                  .last = last.load(relaxed)};
    seen.inside_of = to_string(*seen.asked);
  }
  return seen;
}

watchdog::sentry::sentry(watchdog& watch, const char* what) : mine_(watch.take_post()) {
  mine_.enter(what);
}

watchdog::sentry::~sentry() {
  mine_.leave();
  mine_.taken.store(false, std::memory_order_release);  // pairs with take_post()
}

// While it lives, the thread of that post is inside a call.
class watchdog::inside {
 public:
  explicit inside(post& mine) : mine_(mine) { mine_.leave(); }
  template <class What>
  inside(post& mine, const What& what) : mine_(mine) {
    mine_.enter(what);
  }
  ~inside() { mine_.leave(); }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

 private:
  post& mine_;
};

class watchdog::watched_handle final : public any_handle {
 public:
  watched_handle(post& mine, any_map& map) : mine_(mine) {
    const inside call(mine_, "attach()");
    handle_ = map.attach();
  }
  ~watched_handle() override {
    {
      const inside call(mine_, "the destructor of its handle");
      handle_.reset();
    }
    mine_.taken.store(false, std::memory_order_release);  // pairs with take_post()
  }
  watched_handle(const watched_handle&) = delete;
  watched_handle& operator=(const watched_handle&) = delete;

  progress perform(const workload::operation_batch& batch, std::size_t first, std::size_t last,
                   const subject::task& task, subject::tally& sums) override {
    // One by one, so that it is known which does not return.
    mine_.call.store(nullptr, std::memory_order_relaxed);
    mine_.of_batch.store(true, std::memory_order_relaxed);
    progress all{.performed = 0, .gave_up = false};
    for (std::size_t i = first; i < last; ++i) {
      mine_.kind.store(batch.kinds.at(i), std::memory_order_relaxed);
      mine_.key.store(batch.keys.at(i), std::memory_order_relaxed);
      const inside call(mine_);
      const progress one = handle_->perform(batch, i, i + 1, task, sums);
      all.performed += one.performed;
      all.gave_up = one.gave_up;
      if (one.performed == 0) break;
    }
    return all;
  }
  subject::answer ask(const question& asked) override {
    const inside call(mine_, asked);
    return handle_->ask(asked);
  }
  void visit(const question& asked, const subject::visitor& each,
             const std::function<void()>& begin_again) override {
    const inside call(mine_, asked);
    handle_->visit(asked, each, begin_again);
  }

 private:
  post& mine_;
  std::unique_ptr<any_handle> handle_;
};

class watchdog::watched_map final : public any_map {
 public:
  watched_map(watchdog& watch, std::unique_ptr<any_map> map)
      : watch_(watch), mine_(watch.take_post()), map_(std::move(map)) {}
  ~watched_map() override {
    {
      const inside call(mine_, "the destructor of the map");
      map_.reset();
    }
    mine_.taken.store(false, std::memory_order_release);  // pairs with take_post()
  }
  watched_map(const watched_map&) = delete;
  watched_map& operator=(const watched_map&) = delete;

  std::unique_ptr<any_handle> attach() override {
    return std::make_unique<watched_handle>(watch_.take_post(), *map_);
  }
  void for_each(const subject::visitor& visit) override {
    const inside call(mine_, "for_each()");
    map_->for_each(visit);
  }
  std::optional<std::string> broken_invariant() override {
    const inside call(mine_, "broken_invariant()");
    return map_->broken_invariant();
  }

 private:
  watchdog& watch_;
  post& mine_;
  std::unique_ptr<any_map> map_;
};

namespace {

// Somebody inside the map, when nothing happens any more.
struct stuck {
  pid_t thread = 0;
  std::string inside_of{};
  thread_state state{};
  bool busy = false;              // has not slept since nothing happens
  std::optional<pid_t> holder{};  // of the lock that it waits for
};

// What the matter is, and what each thread is inside of.
struct diagnosis {
  std::string verdict{};
  std::vector<std::string> lines{};
};

// Puts threads first that form a circle in which each waits for a lock of the next, and says how
// many they are; 0 if none do.
std::size_t circle_first(std::vector<stuck>& all) {
  for (const stuck& first : all) {
    std::vector<stuck> circle{first};
    while (circle.back().holder && circle.size() <= all.size()) {
      if (*circle.back().holder == circle.front().thread) {
        std::erase_if(all, [&](const stuck& one) {
          return std::ranges::find(circle, one.thread, &stuck::thread) != circle.end();
        });
        all.insert(all.begin(), circle.begin(), circle.end());
        return circle.size();
      }
      const auto next = std::ranges::find(all, *circle.back().holder, &stuck::thread);
      if (next == all.end()) break;
      circle.push_back(*next);
    }
  }
  return 0;
}

// `quiet` are the threads inside the map as they were when it was first seen that nothing happens.
diagnosis diagnose(const std::vector<watchdog::call>& calls,
                   const std::map<pid_t, thread_state>& quiet) {
  std::vector<stuck> all;
  for (const auto& call : calls) {
    if (call.inside_of.empty()) continue;
    stuck one{call.thread, call.inside_of, state_of(call.thread)};
    one.holder =
        one.state.by_lock ? holder_of(one.state.lock) : holder_of_lock_wanted_by(call.thread);
    if (const auto then = quiet.find(call.thread); then != quiet.end()) {
      one.busy = runs_since(then->second, one.state);
    }
    all.push_back(std::move(one));
  }
  const std::size_t length = circle_first(all);
  diagnosis found;
  const auto threads = all_threads();
  bool deserted = false;  // somebody waits for a lock of who is no longer inside the map
  for (std::size_t i = 0; i < all.size(); ++i) {
    const stuck& one = all[i];
    std::string line = "thread " + std::to_string(i + 1) + " is inside " + one.inside_of;
    if (one.state.asleep) line += ", asleep";
    if (one.busy) line += ", busy all the time";
    if (one.busy && !one.holder) line += ": it loops or waits in a spin lock";
    if (one.holder) {
      const auto holder = std::ranges::find(all, *one.holder, &stuck::thread);
      if (*one.holder == one.thread) {
        line += ": it waits for a lock that it holds itself";
      } else if (holder != all.end()) {
        line += ": it waits for a lock that thread " + std::to_string(holder - all.begin() + 1) +
                " holds";
      } else {
        deserted = true;
        line += ": it waits for a lock of a thread that has ";
        line += std::ranges::find(threads, *one.holder) == threads.end() ? "ended" : "left the map";
      }
    }
    found.lines.push_back(line);
  }
  if (length > 1) {
    found.verdict = "deadlock: " + std::to_string(length) + " threads wait for each other's locks";
  } else if (length == 1) {
    found.verdict = all.front().inside_of +
                    " waits for a lock that its own thread holds: an earlier call returned without "
                    "unlocking it, or this one locks twice";
  } else if (deserted) {
    found.verdict = "a thread has left the map and kept a lock";
  } else if (all.size() == 1) {
    found.verdict = all.front().inside_of +
                    " does not return, and no other thread is inside the map: it " +
                    (all.front().state.asleep ? "waits for what nobody will do" : "loops");
  } else if (all.size() > 1 &&
             std::ranges::all_of(all, [](const stuck& one) { return one.state.by_lock; })) {
    found.verdict = "deadlock: all threads inside the map are asleep";
  } else if (all.size() > 1 && std::ranges::all_of(all, &stuck::busy)) {
    found.verdict = "all threads inside the map loop or wait in spin locks";
  }
  return found;
}

}  // namespace

#if ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER

watchdog::watchdog(subject_of_check of)
    : of_(std::move(of)),
      bytes_at_first_(of_.most_bytes ? allocated_bytes() : 0),
      thread_([this] { keep_watch(); }) {}

watchdog::~watchdog() { over_.release(); }

#else

namespace {

// The watchdog whose threads a crash report describes. The release of its constructor pairs with
// the acquire of the handler; no thread that it watches is left when its destructor begins.
std::atomic<const watchdog*> watching{nullptr};

}  // namespace

// Has a fixed size, for the handler of a signal: nothing is allocated.
class watchdog::crash_text {
 public:
  void add(const char* text) {
    for (; *text != '\0' && size_ < text_.size(); ++text) text_.at(size_++) = *text;
  }
  void add(std::uint64_t number) {
    std::array<char, 21> digits{};  // the last stays 0
    std::to_chars(digits.data(), digits.data() + digits.size() - 1, number);
    add(digits.data());
  }
  void add(const post& one) {
    using workload::operation;
    constexpr auto relaxed = std::memory_order_relaxed;
    if (const char* const what = one.call.load(relaxed)) return add(what);
    const operation kind = one.kind.load(relaxed);
    const bool is_extra = kind > operation::iterate;
    const bool of_batch = one.of_batch.load(relaxed);
    add(workload::facts_of(kind).name.c_str());
    add("(");
    if (of_batch || is_extra || kind <= operation::range) add(one.key.load(relaxed));
    if (!of_batch && (is_extra || kind == operation::insert || kind == operation::range)) {
      add(", ");
      add((kind == operation::range ? one.last : one.value).load(relaxed));
    }
    add(")");
  }
  void print() const {
    for (std::size_t done = 0; done < size_;) {
      const ssize_t n = ::write(STDERR_FILENO, &text_.at(done), size_ - done);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  std::array<char, 4096> text_{};
  std::size_t size_ = 0;
};

// All signals are blocked meanwhile: the one that is raised here, or a crash in here, ends the
// process.
void watchdog::tell_crash(int signal) {
  static std::atomic<bool> reported{false};
  while (reported.exchange(true, std::memory_order_relaxed))
    pause();  // another thread ends the process
  if (const watchdog* const watch = watching.load(std::memory_order_acquire)) {
    constexpr auto relaxed = std::memory_order_relaxed;
    const auto is_inside = [](const post& one) { return one.steps.load(relaxed) % 2 != 0; };
    const pid_t self = gettid();
    crash_text text;
    text.add("error: ");
    text.add(watch->of_.check.c_str());
    text.add(" of ");
    text.add(watch->of_.map.c_str());
    text.add(", seed ");
    text.add(watch->of_.seed);
    const auto mine = std::ranges::find_if(watch->posts_, [&](const post& one) {
      return is_inside(one) && one.thread.load(relaxed) == self;
    });
    text.add(mine == watch->posts_.end() ? ": crashed outside of the map" : ": crashed in: ");
    if (mine != watch->posts_.end()) text.add(*mine);
    text.add("\n");
    for (const post& one : watch->posts_) {
      if (!is_inside(one) || one.thread.load(relaxed) == self) continue;
      text.add("  another thread is inside ");
      text.add(one);
      text.add("\n");
    }
    text.add(watch->hint_.load(relaxed));
    text.print();
  }
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  raise(signal);
}

watchdog::watchdog(subject_of_check of)
    : of_(std::move(of)),
      bytes_at_first_(of_.most_bytes ? allocated_bytes() : 0),
      thread_([this] { keep_watch(); }) {
  watching.store(this, std::memory_order_release);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action{};
    // A handler of the program's own stays.
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = tell_crash;
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

watchdog::~watchdog() {
  watching.store(nullptr, std::memory_order_relaxed);
  over_.release();
}

#endif

std::unique_ptr<any_map> watchdog::over(std::unique_ptr<any_map> map) {
  return std::make_unique<watched_map>(*this, std::move(map));
}

void watchdog::note(std::string known) {
  const std::scoped_lock lock(mutex_);
  known_ = std::move(known);
}

void watchdog::look_on() { looks_on_.store(gettid(), std::memory_order_relaxed); }

watchdog::post& watchdog::take_post() {
  for (post& one : posts_) {
    // The acquire pairs with the release of whoever had it before. Each of many maps has one, so
    // that most are only looked at: relaxed, as a look takes nothing.
    if (one.taken.load(std::memory_order_relaxed) ||
        one.taken.exchange(true, std::memory_order_acquire)) {
      continue;
    }
    one.thread.store(gettid(), std::memory_order_relaxed);
    return one;
  }
  throw std::logic_error("too many threads for one watchdog");
}

std::uint64_t watchdog::signs() const {
  std::uint64_t sum = life_.load(std::memory_order_relaxed);
  for (const post& one : posts_) sum += one.steps.load(std::memory_order_relaxed);
  return sum;
}

std::vector<watchdog::call> watchdog::calls() const {
  std::vector<call> all;
  for (const post& one : posts_) {
    if (one.taken.load(std::memory_order_relaxed)) all.push_back(one.now());
  }
  return all;
}

void watchdog::keep_watch() {
  using std::chrono::steady_clock;
  const auto allowed = of_.patience;
  const auto nobody_inside = [this] {
    return std::ranges::all_of(calls(), [](const call& one) { return one.inside_of.empty(); });
  };
  const auto look_again = of_.most_bytes ? std::chrono::milliseconds(10)
                                         : std::clamp(allowed / 20, std::chrono::milliseconds(1),
                                                      std::chrono::milliseconds(100));
  std::uint64_t last = signs();
  auto since = steady_clock::now();
  while (!over_.try_acquire_for(look_again)) {
    if (of_.most_bytes) look_at_memory();
    if (const std::uint64_t now = signs(); now != last || (of_.only_calls && nobody_inside())) {
      last = now;
      since = steady_clock::now();
      asleep_.clear();
      quiet_.clear();
    } else if (steady_clock::now() - since > allowed) {
      const double seconds = std::chrono::duration<double>(allowed).count();
      std::array<char, 80> why{};
      std::snprintf(why.data(), why.size(), "nothing has happened for %g s", seconds);
      end_process(why.data(), 3);
    } else if (steady_clock::now() - since > 2 * look_again) {
      if (quiet_.empty()) {
        for (const call& one : calls()) {
          if (!one.inside_of.empty()) quiet_.emplace(one.thread, state_of(one.thread));
        }
      }
      look_at_threads();
    }
  }
}

// If all threads of the process but this one sleep until one of them wakes another, nothing can
// happen any more. Nor can it if those that do not sleep, and are more than one, have each been
// busy for long inside one call: one alone may have much to do. That is processor time, so that a
// thread which holds a lock and waits for a processor, on a busy machine, has not been busy.
void watchdog::look_at_threads() {
  constexpr std::uint64_t long_ns = 300'000'000;
  std::vector<std::pair<pid_t, thread_state>> now;
  std::size_t busy = 0;
  for (const pid_t thread : all_threads()) {
    if (thread == gettid() || thread == looks_on_.load(std::memory_order_relaxed)) continue;
    now.emplace_back(thread, state_of(thread));
    const thread_state& state = now.back().second;
    if (state.by_lock) continue;
    const auto then = quiet_.find(thread);
    if (then == quiet_.end() || state.ran_ns < then->second.ran_ns + long_ns) {
      return asleep_.clear();
    }
    ++busy;
  }
  if (busy > 1) {
    end_process("no operation has ended while " + std::to_string(busy) +
                    " threads were busy in theirs for 0.3 s of processor time each",
                3);
  }
  if (busy > 0) return asleep_.clear();
  const auto slept = [](const auto& before, const auto& after) {
    return before.first == after.first && sleeps_since(before.second, after.second);
  };
  const auto all = calls();
  if (std::ranges::equal(asleep_, now, slept) &&
      std::ranges::any_of(all, [](const call& one) { return !one.inside_of.empty(); })) {
    end_process("", 3);
  }
  asleep_ = std::move(now);
}

void watchdog::look_at_memory() {
  const std::uint64_t now = allocated_bytes();
  if (now < bytes_at_first_ + *of_.most_bytes) return;
  end_process("it has taken " + std::to_string((now - bytes_at_first_) >> 20U) + " MiB of memory",
              1);
}

void watchdog::end_process(const std::string& why, int status) {
  std::fflush(stdout);
  const diagnosis found = diagnose(calls(), quiet_);
  std::fprintf(stderr, "error: %s of %s, seed %ju: %s%s%s\n", of_.check.c_str(), of_.map.c_str(),
               std::uintmax_t{of_.seed}, why.c_str(),
               why.empty() || found.verdict.empty() ? "" : ": ", found.verdict.c_str());
  for (const std::string& line : found.lines) std::fprintf(stderr, "  %s\n", line.c_str());
  std::fputs(hint_.load(std::memory_order_relaxed), stderr);
  const std::scoped_lock lock(mutex_);
  if (!known_.empty()) std::fprintf(stderr, "%s\n", known_.c_str());
  if (of_.last_words) of_.last_words();
  std::_Exit(status);
}

}  // namespace assay::rig
