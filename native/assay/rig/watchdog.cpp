#include "assay/rig/watchdog.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "assay/rig/allocated.h"
#include "assay/rig/history.h"

namespace assay::rig {

std::chrono::milliseconds patience() {
  static const std::chrono::milliseconds chosen = [] {
    constexpr std::chrono::milliseconds usual{60'000};
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

std::string watchdog::post::inside_of() const {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (steps.load(relaxed) % 2 == 0) return "";
  if (const char* const what = call.load(relaxed)) return what;
  return to_string(question{.kind = kind.load(relaxed),
                            .key = key.load(relaxed),
                            .value = value.load(relaxed),
                            .last = last.load(relaxed)});
}

// While it lives, the thread of that post is inside a call.
class watchdog::inside {
 public:
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

  answer ask(const question& asked) override {
    const inside call(mine_, asked);
    return handle_->ask(asked);
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
  std::vector<element> walk(std::size_t most) override {
    const inside call(mine_, "for_each()");
    return map_->walk(most);
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

watchdog::watchdog(subject_of_check of)
    : of_(std::move(of)),
      bytes_at_first_(of_.most_bytes ? allocated_bytes() : 0),
      thread_([this] { keep_watch(); }) {}

watchdog::~watchdog() { over_.release(); }

std::unique_ptr<any_map> watchdog::over(std::unique_ptr<any_map> map) {
  return std::make_unique<watched_map>(*this, std::move(map));
}

void watchdog::note(std::string known) {
  const std::scoped_lock lock(mutex_);
  known_ = std::move(known);
}

watchdog::post& watchdog::take_post() {
  for (post& one : posts_) {
    // The acquire pairs with the release of whoever had it before.
    if (!one.taken.exchange(true, std::memory_order_acquire)) return one;
  }
  throw std::logic_error("too many threads for one watchdog");
}

std::uint64_t watchdog::signs() const {
  std::uint64_t sum = life_.load(std::memory_order_relaxed);
  for (const post& one : posts_) sum += one.steps.load(std::memory_order_relaxed);
  return sum;
}

void watchdog::keep_watch() {
  using std::chrono::steady_clock;
  const auto allowed = patience() + of_.longer;
  const auto look_again = of_.most_bytes ? std::chrono::milliseconds(10)
                                         : std::max(allowed / 20, std::chrono::milliseconds(1));
  std::uint64_t last = signs();
  auto since = steady_clock::now();
  while (!over_.try_acquire_for(look_again)) {
    if (of_.most_bytes) look_at_memory();
    if (const std::uint64_t now = signs(); now != last) {
      last = now;
      since = steady_clock::now();
    } else if (steady_clock::now() - since > allowed) {
      const double seconds = std::chrono::duration<double>(allowed).count();
      std::array<char, 80> why{};
      std::snprintf(why.data(), why.size(), "nothing has happened for %g s", seconds);
      end_process(why.data(), 3);
    }
  }
}

void watchdog::look_at_memory() {
  const std::uint64_t now = allocated_bytes();
  if (now < bytes_at_first_ + *of_.most_bytes) return;
  end_process("it has taken " + std::to_string((now - bytes_at_first_) >> 20U) + " MiB of memory",
              1);
}

void watchdog::end_process(const std::string& why, int status) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s of %s, seed %ju: %s\n", of_.check.c_str(), of_.map.c_str(),
               std::uintmax_t{of_.seed}, why.c_str());
  for (const post& one : posts_) {
    if (const std::string call = one.inside_of(); !call.empty()) {
      std::fprintf(stderr, "  a thread is inside %s\n", call.c_str());
    }
  }
  const std::scoped_lock lock(mutex_);
  if (!known_.empty()) std::fprintf(stderr, "%s\n", known_.c_str());
  std::_Exit(status);
}

}  // namespace assay::rig
