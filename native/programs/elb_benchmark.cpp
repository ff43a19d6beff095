// Bonnichsen's experiments with ELB-trees (2016, section 5.5), and how far a relaxed queue strays.
//
//     elb_benchmark multimap 100000
//     elb_benchmark queue 100000
//     elb_benchmark ranks 100000
//
// p threads do n operations on n entries: of a multimap 60% searches, 20% inserts and 20% erases of
// keys, of a queue as many pushes as pops. Keys are drawn evenly from 1 to 2^ceil(1 + log2 n). What
// they do is drawn before, and every structure begins with the same entries, inserted in the same
// order by one thread; but each is built anew for each race. All structures, with their numbers of
// threads, race by turns, in another order each round.
//
// Prints operations per second as JSON: structure:threads -> a number for each round. Ranks are how
// many lower elements were in the queue when one was popped, by the threads' clocks: "pushed" when
// the push had returned, "popped" when the pop began.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/host/allocator.h"
#include "assay/host/clock.h"
#include "assay/host/placement.h"
#include "assay/trial/crew.h"
#include "bags.h"

namespace {

using namespace assay;

enum class operation : std::uint32_t { insert, erase, find };

struct step {
  std::uint32_t key;
  operation operation;
};

// What is done in one round.
struct course {
  std::vector<std::uint32_t> entries;  // the keys at the start
  std::vector<step> steps;

  // Those of one of some threads.
  [[nodiscard]] std::span<const step> part(std::size_t thread, std::size_t threads) const {
    const std::size_t begin = steps.size() * thread / threads;
    return std::span(steps).subspan(begin, steps.size() * (thread + 1) / threads - begin);
  }
};

// Percent of inserts and erases; the others are searches.
struct mix {
  std::uint32_t inserts;
  std::uint32_t erases;
};

course draw(std::uint32_t n, const mix& mix, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint32_t greatest = 2 * std::bit_ceil(n);
  const auto key = [&] { return static_cast<std::uint32_t>(1 + random() % greatest); };
  course drawn{std::vector<std::uint32_t>(n), std::vector<step>(n)};
  std::ranges::generate(drawn.entries, key);
  std::ranges::generate(drawn.steps, [&] {
    const auto percent = random() % 100;
    return step{key(), percent < mix.inserts                ? operation::insert
                       : percent < mix.inserts + mix.erases ? operation::erase
                                                            : operation::find};
  });
  return drawn;
}

// Keeps the compiler from leaving out what gave `value`.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class Handle>
void perform(Handle& handle, const step& step, std::uint32_t value) {
  if constexpr (requires { handle.try_pop(); }) {
    if (step.operation == operation::insert) {
      handle.push(step.key, value);
    } else {
      use(handle.try_pop());
    }
  } else {
    switch (step.operation) {
      case operation::insert:
        handle.insert(step.key, value);
        break;
      case operation::erase:
        use(handle.erase(step.key));
        break;
      case operation::find:
        use(handle.find(step.key));
        break;
    }
  }
}

template <class Handle>
void add(Handle& handle, std::uint32_t key, std::uint32_t value) {
  perform(handle, {key, operation::insert}, value);
}

// Threads that wait for each other begin at once, if there are processors for all.
class common_start {
 public:
  explicit common_start(unsigned threads) : awaited_(threads) {}
  void wait() {
    awaited_.fetch_sub(1);
    while (awaited_.load() > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> awaited_;
};

// Calls each(handle, thread, steps, value) in all threads together, `value` being the first of those
// that are the thread's own, and returns how long they took.
template <class Structure, class Each>
double seconds(trial::crew& threads, unsigned number, const course& course, const Each& each) {
  const auto n = static_cast<std::uint32_t>(course.entries.size());
  Structure structure(2 * std::size_t{n});
  {
    auto handle = structure.attach();
    for (std::uint32_t i = 0; i < n; ++i) add(handle, course.entries[i], i);
  }
  common_start start(number);
  std::vector<std::uint64_t> begun(number);
  std::vector<std::uint64_t> ended(number);
  threads.run([&](unsigned i) {
    auto handle = structure.attach();
    const auto steps = course.part(i, number);
    const auto value = n + static_cast<std::uint32_t>(steps.data() - course.steps.data());
    start.wait();
    const std::uint64_t began = host::now_ns();
    each(handle, i, steps, value);
    ended[i] = host::now_ns();
    begun[i] = began;
  });
  return static_cast<double>(std::ranges::max(ended) - std::ranges::min(begun)) / 1e9;
}

template <class Structure>
double rate(trial::crew& threads, unsigned number, const course& course) {
  const double took = seconds<Structure>(
      threads, number, course,
      [](auto& handle, unsigned, std::span<const step> steps, std::uint32_t value) {
        for (const step& each : steps) perform(handle, each, value++);
      });
  return static_cast<double>(course.steps.size()) / took;
}

// --- ranks -----------------------------------------------------------------------------------------

struct event {
  std::uint64_t ns;
  std::uint32_t key;
  int change;  // of how many there are
};

// How many of each key there are (Fenwick 1994).
class counts {
 public:
  explicit counts(std::size_t greatest) : sums_(greatest + 1) {}
  void add(std::size_t key, int change) {
    for (; key < sums_.size(); key += key & -key) sums_[key] += change;
  }
  [[nodiscard]] int below(std::size_t key) const {
    int sum = 0;
    for (--key; key > 0; key -= key & -key) sum += sums_[key];
    return sum;
  }

 private:
  std::vector<int> sums_;
};

template <class Queue>
nlohmann::ordered_json ranks(trial::crew& threads, unsigned number, const course& course) {
  std::vector<std::vector<event>> seen(number);
  seconds<Queue>(threads, number, course,
                 [&seen](auto& handle, unsigned thread, std::span<const step> steps,
                         std::uint32_t value) {
                   auto& mine = seen[thread];
                   mine.reserve(steps.size());
                   for (const step& each : steps) {
                     if (each.operation == operation::insert) {
                       handle.push(each.key, value++);
                       mine.push_back({host::now_ns(), each.key, 1});
                     } else {
                       const std::uint64_t began = host::now_ns();
                       if (const auto popped = handle.try_pop()) {
                         mine.push_back({began, popped->first, -1});
                       }
                     }
                   }
                 });
  std::vector<event> all;
  for (const auto& each : seen) all.insert(all.end(), each.begin(), each.end());
  std::ranges::stable_sort(all, {}, &event::ns);
  counts there(2 * std::bit_ceil(course.entries.size()));
  for (const std::uint32_t key : course.entries) there.add(key, 1);
  std::vector<int> found;
  for (const auto& [ns, key, change] : all) {
    if (change < 0) found.push_back(std::max(there.below(key), 0));
    there.add(key, change);
  }
  std::ranges::sort(found);
  double sum = 0;
  for (const int each : found) sum += each;
  return {{"mean", sum / static_cast<double>(found.size())},
          {"of 1 in 100", found[found.size() * 99 / 100]},
          {"greatest", found.back()}};
}

// --- all of it -------------------------------------------------------------------------------------

struct entrant {
  std::string name;
  unsigned threads;
  std::function<double(trial::crew&, unsigned, const course&)> rate;
};

template <class Structure>
void enter(std::vector<entrant>& all, const std::string& name, std::vector<unsigned> numbers) {
  for (const unsigned number : numbers) all.push_back({name, number, &rate<Structure>});
}

std::vector<entrant> multimaps() {
  std::vector<entrant> all;
  enter<bags::elb_multimap>(all, "elb_multimap", {1, 2, 4});
  enter<bags::elb_multimap_wide>(all, "elb_multimap_wide", {1, 2, 4});
  enter<bags::bt_multimap>(all, "bt_map", {1, 2, 4});
  enter<bags::std_multimap_unsynchronised>(all, "std_multimap", {1});
  enter<bags::std_multimap_mutex>(all, "std_multimap_mutex", {1, 2, 4});
  return all;
}

std::vector<entrant> queues() {
  std::vector<entrant> all;
  enter<bags::elb_priority_queue>(all, "elb_priority_queue", {1, 2, 4});
  enter<bags::elb_priority_queue_near>(all, "elb_priority_queue_near", {1, 2, 4});
  enter<bags::std_priority_queue_mutex>(all, "std_priority_queue_mutex", {1, 2, 4});
  enter<bags::tbb_priority_queue>(all, "tbb_priority_queue", {1, 2, 4});
  enter<bags::cds_ms_priority_queue>(all, "cds_ms_priority_queue", {1, 2, 4});
  enter<bags::cds_fc_priority_queue>(all, "cds_fc_priority_queue", {1, 2, 4});
  return all;
}

class crews {
 public:
  trial::crew& of(unsigned number) {
    const auto [place, is_new] = all_.try_emplace(number, number);
    if (is_new) {
      const host::placement where(host::parse_pinning("cores_first"), number);
      place->second.run([&where](unsigned i) { where.bind_this_thread(i); });
    }
    return place->second;
  }

 private:
  std::map<unsigned, trial::crew> all_;
};

nlohmann::ordered_json race(std::vector<entrant> entrants, std::uint32_t n, const mix& mix,
                            unsigned rounds) {
  std::mt19937_64 random(std::random_device{}());
  crews threads;
  nlohmann::ordered_json told;
  for (unsigned round = 0; round < rounds; ++round) {
    const course course = draw(n, mix, random());
    std::ranges::shuffle(entrants, random);
    for (const auto& [name, number, rate] : entrants) {
      told[name + ":" + std::to_string(number)].push_back(rate(threads.of(number), number, course));
    }
  }
  return told;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string experiment;
  std::uint32_t n = 0;
  std::string allocator;
  unsigned rounds = 5;
  CLI::App cli("Bonnichsen's experiments with ELB-trees.");
  cli.add_option("experiment", experiment)
      ->required()
      ->check(CLI::IsMember({"multimap", "queue", "ranks"}));
  cli.add_option("n", n)->required()->check(CLI::Range(100U, 100'000'000U));
  cli.add_option("--allocator", allocator, "that must be in the process");
  cli.add_option("--rounds", rounds)->check(CLI::Range(1U, 1000U));
  CLI11_PARSE(cli, argc, argv);

  if (!allocator.empty()) host::require_allocator(allocator);
  constexpr mix of_queues{50, 50};
  nlohmann::ordered_json told;
  if (experiment == "multimap") {
    told = race(multimaps(), n, {20, 20}, rounds);
  } else if (experiment == "queue") {
    told = race(queues(), n, of_queues, rounds);
  } else {
    crews threads;
    const course course = draw(n, of_queues, std::random_device{}());
    for (const unsigned number : {1U, 2U, 4U}) {
      const std::string suffix = ":" + std::to_string(number);
      told["elb_priority_queue" + suffix] =
          ranks<bags::elb_priority_queue>(threads.of(number), number, course);
      told["elb_priority_queue_near" + suffix] =
          ranks<bags::elb_priority_queue_near>(threads.of(number), number, course);
    }
  }
  std::cout << told << '\n' << std::flush;
  return std::cout ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
