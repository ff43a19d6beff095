// What does a policy of reclamation cost: time, and memory that waits?
//
// Some nanoseconds, where the same tree at another place in memory differs by as much. So small
// trees are built anew for each turn, with each policy, and measured for a short while: what a
// policy adds is a difference between two of a group. The calls of the policies are timed by
// themselves, and the nodes that wait when a thread has stalled are counted.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "assay/fixture/benchmark.h"
#include "assay/fixture/keep.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
#include "assay/measure/ns_each.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"

namespace {

using namespace assay;
using fixture::keep;

constexpr std::uint32_t key_range = 200;  // so that an operation is short

using draws = std::vector<std::uint32_t>;

// Searches for each of the keys, or inserts and erases them by turns.
template <class Handle>
[[gnu::noinline]] std::size_t perform(Handle& handle, const draws& keys, bool updates) {
  std::size_t succeeded = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!updates) {
      succeeded += handle.contains(keys[i]) ? 1U : 0U;
    } else if (i % 2 == 0) {
      succeeded += handle.insert(keys[i], keys[i]) ? 1U : 0U;
    } else {
      succeeded += handle.erase(keys[i]) ? 1U : 0U;
    }
  }
  return succeeded;
}

template <template <class, class, class, class> class Tree, class Reclaim>
using tree = Tree<std::uint32_t, std::uint32_t, Reclaim, std::less<>>;

// Nanoseconds per operation of a tree that holds about half of the keys.
template <class Map>
double ns_of_operation(bool updates, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  draws keys(1 << 16);
  std::ranges::generate(keys, [&random] { return random() % key_range; });
  Map map;
  auto handle = map.attach();
  std::size_t succeeded = perform(handle, keys, true) + perform(handle, keys, updates);
  const double ns =
      measure::ns_each(keys.size(), [&] { succeeded += perform(handle, keys, updates); });
  if (succeeded == 0) throw std::logic_error("no operation succeeded");
  return ns;
}

void add_trees(fixture::turns& all) {
  for (const bool updates : {false, true}) {
    const auto add = [&]<class Map>(const char* variant, std::type_identity<Map>) {
      all.add(updates ? "ns of an update" : "ns of a search", variant,
              [updates](std::uint64_t seed) { return ns_of_operation<Map>(updates, seed); });
    };
    using std::type_identity;
    add("lock-free tree", type_identity<tree<natarajan_mittal_bst, reclaim::none>>());
    add("lock-free tree, epochs", type_identity<tree<natarajan_mittal_bst, reclaim::epochs>>());
    add("ticket tree", type_identity<tree<ticket_bst, reclaim::none>>());
    add("ticket tree, epochs", type_identity<tree<ticket_bst, reclaim::epochs>>());
    add("ticket tree, hazard pointers",
        type_identity<tree<ticket_bst, reclaim::hazard_pointers>>());
  }
}

// Nanoseconds per call, of many.
template <class Call>
double ns_of_call(const Call& call) {
  constexpr std::size_t times = 1 << 14;
  return measure::ns_each(times, [&call] {
    for (std::size_t i = 0; i < times; ++i) call();
  });
}

// What the calls of one policy take.
template <class Reclaim>
void add_calls(fixture::turns& all, const std::string& policy) {
  struct state {
    Reclaim domain;
    typename Reclaim::participant me{domain.join()};
    std::unique_ptr<int> node{std::make_unique<int>()};
    std::atomic<int*> source{node.get()};
  };
  const auto shared = std::make_shared<state>();
  all.add("ns of a call", "a guard, " + policy, [shared](std::uint64_t) {
    return ns_of_call([&my = *shared] {
      auto guard = my.me.pin();
      keep(guard);
    });
  });
  all.add("ns of a call", "a guard and a protect, " + policy, [shared](std::uint64_t) {
    return ns_of_call([&my = *shared] {
      auto guard = my.me.pin();
      keep(guard.protect(0, my.source));
    });
  });
  all.add("ns of a call", "a guard, new and retire, " + policy, [shared](std::uint64_t) {
    return ns_of_call([&my = *shared] {
      int* const node = new int;
      keep(node);
      my.me.pin().retire(node);
    });
  });
}

template <class Participant>
void retire_a_million(Participant& me) {
  for (int i = 0; i < 1'000'000; ++i) me.pin().retire(new int);
}

// How many nodes wait after a million were retired: by a participant alone; beside another that
// stopped inside a guard, which protects what it can; and after a million more since that one went
// on.
template <class Reclaim>
void count_waiting(const std::string& policy, fixture::figures& waiting) {
  const auto tell = [&](const std::string& when, const Reclaim& domain) {
    waiting[when + ", " + policy].push_back(domain.unfreed());
  };
  {
    Reclaim domain;
    auto me = domain.join();
    retire_a_million(me);
    tell("nobody stalled", domain);
  }
  Reclaim domain;
  auto me = domain.join();
  auto stalled = domain.join();
  {
    auto guard = stalled.pin();
    for (std::size_t slot = 0; slot < reclaim::slots; ++slot) {
      const std::atomic<int*> source{new int};
      guard.protect(slot, source);
      me.pin().retire(source.load());
    }
    retire_a_million(me);
    tell("another thread stalled", domain);
  }
  retire_a_million(me);
  tell("a million later", domain);
}

fixture::figures figures_of(const fixture::settings& settings) {
  fixture::turns all;
  add_trees(all);
  add_calls<reclaim::none>(all, "none");
  add_calls<reclaim::epochs>(all, "epochs");
  add_calls<reclaim::hazard_pointers>(all, "hazard pointers");
  all.add("ns of a call", "new and delete",
          [](std::uint64_t) { return ns_of_call([] { keep(std::make_unique<int>().get()); }); });
  fixture::figures found = all.run(settings.rounds, settings.seed);
  fixture::figures& waiting = found["nodes that wait"];
  count_waiting<reclaim::none>("none", waiting);
  count_waiting<reclaim::epochs>("epochs", waiting);
  count_waiting<reclaim::hazard_pointers>("hazard pointers", waiting);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli("Measures what policies of reclamation cost.");
  return fixture::run_benchmark(cli, argc, argv, 31, figures_of);
}
