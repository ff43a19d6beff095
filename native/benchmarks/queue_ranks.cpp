// How far from the lowest is what threads pop from an ELB-tree's queue?
//
//     queue_ranks 100000
//
// 1, 2 and 4 threads do n operations, as many pushes as pops, on n entries, once by try_pop() and
// once by try_pop_near(). Keys are those of trials of queues: from 1 to 2n at first, and then the
// one popped last by the thread plus such a number (docs/guide/subjects.md). The rank of what is
// popped is how many lower entries were in the queue, by the threads' clocks: what is pushed is
// there from the return of the push on, what is popped until the pop begins. So where threads work
// at the same time, ranks above 0 are due to time as well.
//
// Gives the means, the 99th percentiles and the greatest ranks.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "assay/fixture/benchmark.h"
#include "assay/host/clock.h"
#include "assay/host/placement.h"
#include "assay/maps/elb_priority_queue.h"
#include "assay/measure/crew.h"

namespace {

using namespace assay;

struct unequal : elb_queue_settings {
  static constexpr unsigned tie_bits = 0;
};
using element = elb::element<std::uint32_t, std::uint32_t, 31, 32>;
using queue = elb_priority_queue<element, std::less<>, reclaim::hazard_pointers, unequal>;

// An entry that came, or went.
struct event {
  std::uint64_t ns;
  std::uint32_t key;
  int change;
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

std::uint32_t draw(std::mt19937_64& random, std::uint32_t n) {
  return static_cast<std::uint32_t>(1 + random() % (2 * std::uint64_t{n}));
}

template <class Pop>
std::vector<event> work(queue& shared, std::uint32_t n, std::uint32_t first_value,
                        std::uint32_t operations, std::uint64_t seed, const Pop& pop) {
  auto handle = shared.attach();
  std::mt19937_64 random(seed);
  std::vector<event> seen;
  seen.reserve(operations);
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < operations; ++i) {
    if (random() % 2 == 0) {
      const std::uint32_t key = last + draw(random, n);
      handle.push({key, first_value + i});
      seen.push_back({host::now_ns(), key, 1});
    } else {
      const std::uint64_t began = host::now_ns();
      const auto popped = pop(handle);
      if (!popped) continue;
      last = popped->key;
      seen.push_back({began, last, -1});
    }
  }
  return seen;
}

template <class Pop>
std::vector<int> ranks(std::uint32_t n, unsigned threads, std::uint64_t seed, const Pop& pop) {
  std::mt19937_64 random(seed);
  queue shared;
  std::vector<event> all;
  {
    auto handle = shared.attach();
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t key = draw(random, n);
      handle.push({key, i});
      all.push_back({0, key, 1});
    }
  }
  measure::crew crew(threads);
  const host::placement place(host::parse_pinning("cores_first"), threads);
  std::vector<std::vector<event>> seen(threads);
  const std::uint32_t part = n / threads;
  const std::uint64_t first_seed = random();
  crew.run([&](unsigned i) {
    place.bind_this_thread(i);
    seen[i] = work(shared, n, n + i * part, part, first_seed + i, pop);
  });
  for (const auto& each : seen) all.insert(all.end(), each.begin(), each.end());
  // At one and the same time a thread's push has returned before its pop begins.
  std::ranges::sort(all, {}, [](const event& each) { return std::pair(each.ns, -each.change); });
  counts there(std::ranges::max(all, {}, &event::key).key);
  std::vector<int> found;
  for (const auto& [ns, key, change] : all) {
    if (change < 0) found.push_back(std::max(there.below(key), 0));
    there.add(key, change);
  }
  std::ranges::sort(found);
  return found;
}

template <class Pop>
void figures_of(std::uint32_t n, const fixture::settings& settings, const Pop& pop,
                fixture::figures& found) {
  for (const unsigned threads : {1U, 2U, 4U}) {
    const std::string of = "threads: " + std::to_string(threads) + ", ";
    for (std::size_t round = 0; round < settings.rounds; ++round) {
      const std::vector<int> popped = ranks(n, threads, settings.seed + round, pop);
      const double sum = std::accumulate(popped.begin(), popped.end(), 0.0);
      found[of + "mean"].push_back(sum / static_cast<double>(popped.size()));
      found[of + "99%"].push_back(popped[popped.size() * 99 / 100]);
      found[of + "greatest"].push_back(popped.back());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t n = 0;
  CLI::App cli("Measures how many lower entries there are when one is popped.");
  cli.add_option("n", n)->required()->check(CLI::Range(1000U, 100'000'000U));
  return fixture::run_benchmark(cli, argc, argv, 1, [&n](const fixture::settings& settings) {
    fixture::figures found;
    figures_of(n, settings, [](auto& handle) { return handle.try_pop(); }, found["try_pop"]);
    figures_of(
        n, settings, [](auto& handle) { return handle.try_pop_near(); }, found["try_pop_near"]);
    return found;
  });
}
