#include "assay/rig/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/random/splitmix64.h"
#include "assay/rig/clock.h"
#include "assay/rig/disturbance.h"
#include "assay/rig/preemption.h"
#include "assay/trial/crew.h"

namespace assay::rig {
namespace {

using random::splitmix64;
using workload::operation;

constexpr unsigned most_threads = 4;
constexpr std::uint64_t most_keys = 8;
constexpr std::chrono::seconds patience{60};

// What all threads are to do in one history.
struct plan {
  std::uint64_t keys;
  std::vector<std::vector<question>> of_thread;
};

// From `least` to `most`.
std::uint64_t draw_between(splitmix64& draw, std::uint64_t least, std::uint64_t most) {
  return least + draw() % (most - least + 1);
}

// Weights of the kinds of operation, drawn for one history.
using weights = std::array<std::uint64_t, workload::operation_kinds>;

weights draw_weights(splitmix64& draw, const trial::subject_entry& subject, bool whole) {
  weights drawn{};
  for (const operation kind : subject.atomic) {
    const bool updates = kind == operation::insert || kind == operation::erase;
    if (kind > operation::find && !whole) continue;
    drawn.at(static_cast<std::size_t>(kind)) = draw_between(draw, updates ? 1 : 0, 4);
  }
  return drawn;
}

operation draw_kind(splitmix64& draw, const weights& among) {
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : among) sum += weight;
  std::uint64_t left = draw() % sum;
  std::size_t kind = 0;
  while (left >= among.at(kind)) left -= among.at(kind++);
  return static_cast<operation>(kind);
}

// `on_map` numbers the histories of one map from 1 on, so that each insert has a value of its own.
plan draw_plan(splitmix64& draw, const trial::subject_entry& subject, std::uint64_t on_map) {
  const bool offers_more = subject.atomic.size() > 3;
  const bool whole = offers_more && draw() % 4 == 0;
  const weights among = draw_weights(draw, subject, whole);
  const std::uint64_t threads = draw_between(
      draw, 2, std::min(subject.max_threads.value_or(most_threads), whole ? 3U : most_threads));
  const std::uint64_t operations = draw_between(draw, 1, whole ? 4 : 8);
  plan drawn{.keys = draw_between(draw, 1, whole ? 4 : most_keys), .of_thread = {}};
  drawn.of_thread.resize(threads);
  std::uint64_t value = 100 * on_map;
  for (auto& mine : drawn.of_thread) {
    for (std::uint64_t i = 0; i < operations; ++i) {
      const operation kind = draw_kind(draw, among);
      // Every other range is of all keys.
      const bool all = kind == operation::range && draw() % 2 == 0;
      const std::uint64_t key = all ? 1 : draw_between(draw, 1, drawn.keys);
      const std::uint64_t last = all ? drawn.keys : draw_between(draw, key, drawn.keys);
      mine.push_back({.kind = kind, .key = key, .value = ++value, .last = last});
    }
  }
  return drawn;
}

struct stamped {
  answer answered;
  std::uint64_t call;
  std::uint64_t end;
};

// One thread's part in the history at hand. Threads write what others read far apart.
struct alignas(workload::interference_bytes) part {
  std::unique_ptr<any_handle> handle;
  std::vector<stamped> done;
  std::optional<disturbance> disturbed;
  long preempted_after_ns = 0;
  std::string failure;
  std::atomic<std::size_t> returned{0};  // operations; for the message of one that does not
};

// Threads that begin together, even where there are more of them than processors.
class starting_line {
 public:
  explicit starting_line(unsigned threads) : missing_(threads) {}

  void arrive_and_wait() {
    // All orders are as weak as can be: the histories must not be ordered by what begins them.
    missing_.fetch_sub(1, std::memory_order_relaxed);
    for (unsigned turns = 1; missing_.load(std::memory_order_relaxed) != 0; ++turns) {
      if (turns % 64 == 0) std::this_thread::yield();
    }
  }

 private:
  std::atomic<unsigned> missing_;
};

void perform(part& mine, const std::vector<question>& asked, const stamp_clock& clock) {
  const disturbance::here disturbed(*mine.disturbed);
  const preemption preempted(mine.preempted_after_ns);
  for (const question& one : asked) {
    mine.disturbed->strike();
    try {
      const std::uint64_t call = clock.before();
      answer answered = mine.handle->ask(one);
      const std::uint64_t end = clock.after();
      mine.done.push_back({std::move(answered), call, end});
    } catch (const std::exception& error) {
      mine.failure = to_string(one) + " threw an exception: " + error.what();
      return;
    }
    mine.returned.store(mine.done.size(), std::memory_order_relaxed);
  }
}

[[noreturn]] void give_up(const history& unfinished, const plan& drawn,
                          const std::array<part, most_threads>& parts) {
  std::fprintf(stderr, "error: %s: history %ju of seed %ju did not end within %jd s.\n",
               unfinished.map.c_str(), std::uintmax_t{unfinished.number},
               std::uintmax_t{unfinished.seed}, std::intmax_t{patience.count()});
  for (std::size_t i = 0; i < drawn.of_thread.size(); ++i) {
    const std::size_t at = parts.at(i).returned.load(std::memory_order_relaxed);
    if (at < drawn.of_thread[i].size()) {
      std::fprintf(stderr, "  thread %zu is inside %s\n", i,
                   to_string(drawn.of_thread[i][at]).c_str());
    }
  }
  std::_Exit(3);
}

bool overlap(const history& recorded) {
  for (const auto& a : recorded.operations) {
    for (const auto& b : recorded.operations) {
      if (a.thread != b.thread && a.call_ns <= b.return_ns && b.call_ns <= a.return_ns) return true;
    }
  }
  return false;
}

// The map of a number of histories, and what it held when the last of them had ended.
struct served_map {
  std::unique_ptr<any_map> map;
  std::vector<element> held;
  std::uint64_t histories;  // so far
  std::uint64_t most;

  // A map that holds a key twice is known to be broken: the next history would begin with what no
  // map can hold.
  [[nodiscard]] bool may_go_on() const {
    if (histories == most) return false;
    std::vector<std::uint64_t> keys;
    for (const auto& [key, value] : held) keys.push_back(key);
    std::ranges::sort(keys);
    return std::ranges::adjacent_find(keys) == keys.end();
  }
};

class recorder {
 public:
  recorder(const trial::subject_entry& subject, std::uint64_t seed)
      : subject_(subject), seed_(seed), draw_(seed), threads_(most_threads) {}

  history next() {
    if (!served_ || !served_->may_go_on()) renew();
    ++served_->histories;
    const plan drawn = draw_plan(draw_, subject_, served_->histories);
    history made{.map = subject_.name,
                 .seed = seed_,
                 .number = number_++,
                 .start = served_->held,
                 .operations = {},
                 .end = {}};
    run(drawn, made);
    take_down(drawn, made);
    // Enough to tell that the walk met too much.
    served_->held = served_->map->walk(4 * most_keys);
    made.end = served_->held;
    return made;
  }

 private:
  void renew() {
    served_.reset();
    served_.emplace(
        served_map{.map = subject_.open({.key_range = most_keys, .threads = most_threads}),
                   .held = {},
                   .histories = 0,
                   .most = std::uint64_t{1} << draw_between(draw_, 0, 12)});
  }

  void run(const plan& drawn, const history& made) {
    const auto threads = static_cast<unsigned>(drawn.of_thread.size());
    std::array<std::uint64_t, most_threads> seeds{};
    for (auto& seed : seeds) seed = draw_();
    threads_.run([&](unsigned i) {
      if (i >= threads) return;
      parts_.at(i).handle = served_->map->attach();
      parts_.at(i).done.clear();
      parts_.at(i).done.reserve(drawn.of_thread[i].size());
      parts_.at(i).disturbed.emplace(seeds.at(i));
      parts_.at(i).preempted_after_ns = 1 + static_cast<long>(seeds.at(i) % 10'000);
      parts_.at(i).returned.store(0, std::memory_order_relaxed);
    });
    starting_line line(threads);
    std::counting_semaphore<most_threads> ended(0);
    threads_.start([&](unsigned i) {
      if (i >= threads) return;
      line.arrive_and_wait();
      perform(parts_.at(i), drawn.of_thread[i], clock_);
      parts_.at(i).handle.reset();
      ended.release();
    });
    for (unsigned i = 0; i < threads; ++i) {
      if (!ended.try_acquire_for(patience)) give_up(made, drawn, parts_);
    }
    threads_.wait();
  }

  void take_down(const plan& drawn, history& made) {
    std::optional<std::uint64_t> first;
    for (std::size_t i = 0; i < drawn.of_thread.size(); ++i) {
      if (!parts_.at(i).failure.empty()) {
        throw operation_failed(made.map + ": history " + std::to_string(made.number) + " of seed " +
                               std::to_string(made.seed) + ": " + parts_.at(i).failure);
      }
      const std::uint64_t call = parts_.at(i).done.front().call;
      first = std::min(first.value_or(call), call);
    }
    for (std::size_t i = 0; i < drawn.of_thread.size(); ++i) {
      for (std::size_t j = 0; j < drawn.of_thread[i].size(); ++j) {
        stamped& one = parts_.at(i).done[j];
        made.operations.push_back({.thread = static_cast<unsigned>(i),
                                   .asked = drawn.of_thread[i][j],
                                   .answered = std::move(one.answered),
                                   .call_ns = clock_.ns(one.call, *first),
                                   .return_ns = clock_.ns_up(one.end, *first)});
      }
    }
  }

  const trial::subject_entry& subject_;
  std::uint64_t seed_;
  splitmix64 draw_;
  std::uint64_t number_ = 0;
  stamp_clock clock_;
  std::optional<served_map> served_;
  std::array<part, most_threads> parts_;
  trial::crew threads_;
};

}  // namespace

recorded record(const trial::subject_entry& subject, const recording& asked,
                const std::function<void(const history&)>& take) {
  recorder records(subject, asked.seed);
  const disturb_at_points disturbed;
  recorded sums;
  for (; sums.histories < asked.histories; ++sums.histories) {
    const history one = records.next();
    sums.operations += one.operations.size();
    sums.overlapping += overlap(one);
    take(one);
  }
  return sums;
}

}  // namespace assay::rig
