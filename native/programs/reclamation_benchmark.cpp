// What does a policy of reclamation add to an operation?
//
// Some nanoseconds, where the same tree in another process, or at another place in memory, differs
// by as much. So this program builds small trees anew, again and again, with each policy in turn,
// measures each for a short while, and prints the medians of the differences from the tree without
// reclamation, in nanoseconds per operation, as JSON; and what that tree took itself.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
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

}  // namespace

int main() try {
  std::mt19937_64 random(std::random_device{}());
  draws keys(operations);
  nlohmann::json told;
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
  std::cout << told << '\n' << std::flush;
  return std::cout ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
