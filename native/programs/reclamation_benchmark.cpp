// What does a policy of reclamation cost: time, and memory that waits?
//
// Some nanoseconds, where the same tree in another process, or at another place in memory, differs
// by as much. So this program builds small trees anew, again and again, with each policy in turn,
// measures each for a short while, and takes the medians of the differences from the tree without
// reclamation, and what that tree took itself. It times the calls of the policies by themselves,
// and counts how many nodes wait when a thread has stalled. All of it is printed as JSON: what was
// measured, and each figure by its name.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"

namespace {

using namespace assay;

constexpr std::uint32_t key_range = 200;  // so that an operation is short
constexpr std::size_t operations = 1 << 16;
constexpr std::size_t rounds = 31;

using draws = std::vector<std::uint32_t>;
using values = std::array<double, rounds>;

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

// Nanoseconds per operation of a tree that holds about half of the keys.
template <class Map>
double measure(const draws& keys, bool updates) {
  Map map;
  auto handle = map.attach();
  std::size_t succeeded = perform(handle, keys, true) + perform(handle, keys, updates);
  const auto start = std::chrono::steady_clock::now();
  succeeded += perform(handle, keys, updates);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  if (succeeded == 0) throw std::logic_error("no operation succeeded");
  return took.count() / static_cast<double>(keys.size());
}

double median(values all) {
  std::ranges::nth_element(all, all.begin() + rounds / 2);
  return all[rounds / 2];
}

double median_difference(const values& one, const values& other) {
  values differences{};
  std::ranges::transform(one, other, differences.begin(), std::minus<>());
  return median(differences);
}

template <template <class, class, class, class> class Tree, class Reclaim>
using tree = Tree<std::uint32_t, std::uint32_t, Reclaim, std::less<>>;

using figures = nlohmann::ordered_json;  // printed in the order in which they are measured

figures trees() {
  std::mt19937_64 random(std::random_device{}());
  draws keys(operations);
  figures told;
  for (const bool updates : {false, true}) {
    values lock_free_none{};
    values lock_free_epochs{};
    values ticket_none{};
    values ticket_epochs{};
    values ticket_hazard{};
    for (std::size_t round = 0; round < rounds; ++round) {
      std::ranges::generate(keys, [&random] { return random() % key_range; });
      lock_free_none[round] = measure<tree<natarajan_mittal_bst, reclaim::none>>(keys, updates);
      lock_free_epochs[round] = measure<tree<natarajan_mittal_bst, reclaim::epochs>>(keys, updates);
      ticket_none[round] = measure<tree<ticket_bst, reclaim::none>>(keys, updates);
      ticket_epochs[round] = measure<tree<ticket_bst, reclaim::epochs>>(keys, updates);
      ticket_hazard[round] = measure<tree<ticket_bst, reclaim::hazard_pointers>>(keys, updates);
    }
    const std::string of = updates ? "updates, " : "searches, ";
    told[of + "lock-free tree"] = median(lock_free_none);
    told[of + "lock-free tree, epochs"] = median_difference(lock_free_epochs, lock_free_none);
    told[of + "ticket tree"] = median(ticket_none);
    told[of + "ticket tree, epochs"] = median_difference(ticket_epochs, ticket_none);
    told[of + "ticket tree, hazard pointers"] = median_difference(ticket_hazard, ticket_none);
  }
  return told;
}

// Keeps the compiler from leaving out what gave `value`.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r"(value) : "memory");
}

// Nanoseconds per call, of many.
template <class Call>
double time(Call call) {
  constexpr std::size_t calls = 1 << 14;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / calls;
}

// What the calls of one policy take.
template <class Reclaim>
class calls {
 public:
  void measure(std::size_t round) {
    pin_[round] = time([this] {
      auto guard = me_.pin();
      use(&guard);
    });
    protect_[round] = time([this] {
      auto guard = me_.pin();
      use(guard.protect(0, source_));
    });
    retire_[round] = time([this] {
      int* const node = new int;
      use(node);
      me_.pin().retire(node);
    });
  }

  void tell(const std::string& policy, figures& told) const {
    told["a guard, " + policy] = median(pin_);
    told["a guard and a protect, " + policy] = median(protect_);
    told["a guard, new and retire, " + policy] = median(retire_);
  }

 private:
  Reclaim domain_;
  typename Reclaim::participant me_{domain_.join()};
  std::unique_ptr<int> node_{std::make_unique<int>()};
  std::atomic<int*> source_{node_.get()};
  values pin_{};
  values protect_{};
  values retire_{};
};

figures calls_alone() {
  calls<reclaim::none> none;
  calls<reclaim::epochs> epochs;
  calls<reclaim::hazard_pointers> hazard_pointers;
  values allocation{};
  for (std::size_t round = 0; round < rounds; ++round) {
    none.measure(round);
    epochs.measure(round);
    hazard_pointers.measure(round);
    allocation[round] = time([] { use(std::make_unique<int>().get()); });
  }
  figures told;
  none.tell("none", told);
  epochs.tell("epochs", told);
  hazard_pointers.tell("hazard pointers", told);
  told["new and delete"] = median(allocation);
  return told;
}

template <class Participant>
void retire_a_million(Participant& me) {
  for (int i = 0; i < 1'000'000; ++i) me.pin().retire(new int);
}

// How many nodes wait after a million were retired: by a participant alone; beside another that
// stopped inside a guard, which protects what it can; and after a million more since that one went
// on.
template <class Reclaim>
void count_waiting(const std::string& policy, figures& told) {
  {
    Reclaim domain;
    auto me = domain.join();
    retire_a_million(me);
    told["nobody stalled, " + policy] = domain.unfreed();
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
    told["another thread stalled, " + policy] = domain.unfreed();
  }
  retire_a_million(me);
  told["a million later, " + policy] = domain.unfreed();
}

figures waiting() {
  figures told;
  count_waiting<reclaim::none>("none", told);
  count_waiting<reclaim::epochs>("epochs", told);
  count_waiting<reclaim::hazard_pointers>("hazard pointers", told);
  return told;
}

}  // namespace

int main() try {
  figures told;
  told["time of an operation, 200 keys; that reclamation adds to it, ns (goal: epochs at most 3)"] =
      trees();
  told["time of the calls of a policy by themselves, ns"] = calls_alone();
  told["nodes that wait after a million were retired"] = waiting();
  std::cout << told << '\n' << std::flush;
  return std::cout ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
