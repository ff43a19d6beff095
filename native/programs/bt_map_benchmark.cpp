// What does assay::bt_map gain apart from threads: memory, and searches for many keys at once?
//
// Memory is what the process grows by for a million keys, each map in a forked child of its own, so
// that none finds what another has freed. find_many is measured by turns with find on one map,
// again and again, over the same keys. Prints, as JSON, what was measured and the ratios by their
// names.

#include <absl/container/btree_map.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "assay/host/allocator.h"
#include "assay/host/usage.h"
#include "assay/maps/bt_map.h"
#include "assay/random/permutation.h"

namespace {

using namespace assay;

constexpr std::uint64_t keys = 1'000'000;
constexpr std::size_t searches = 1 << 18;
constexpr std::size_t batch = 64;  // keys that find_many is given at once
constexpr std::size_t rounds = 15;

using map = bt_map<std::uint64_t, std::uint64_t>;
using figures = nlohmann::ordered_json;  // printed in the order in which they are measured

// Keeps the compiler from leaving out what gave `value`.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

// The bytes in RAM that `fill` adds to a child of this process. It returns what holds them.
template <class Fill>
double growth(Fill fill) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  double grown = 0;
  if (child == 0) {
    const auto before = static_cast<double>(host::resident_bytes());
    const auto filled = fill();
    use(filled);
    grown = static_cast<double>(host::resident_bytes()) - before;
    _exit(write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
  }
  close(ends[1]);
  const bool told = read(ends[0], &grown, sizeof grown) == sizeof grown;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!told || status != 0) throw std::runtime_error("a child process did not report its memory");
  return grown;
}

// What a bt_map grows by when keys are inserted in that order.
template <class Order>
double inserted(const Order& order) {
  // What is not copied or moved is held by a pointer.
  return growth([&order] {
    auto held = std::make_unique<map>();
    auto handle = held->attach();
    for (std::uint64_t i = 0; i < keys; ++i) handle.insert(order(i), i);
    return held;
  });
}

figures memory() {
  const random::permutation order(keys, std::random_device{}());
  const double absl = growth([&order] {
    absl::btree_map<std::uint64_t, std::uint64_t> held;
    for (std::uint64_t i = 0; i < keys; ++i) held.emplace(order(i), i);
    return held;
  });
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sorted(keys);
  for (std::uint64_t i = 0; i < keys; ++i) sorted[i] = {i, i};
  const double loaded = growth([&sorted] {
    auto held = std::make_unique<map>();
    held->load_sorted(sorted.begin(), sorted.end());
    return held;
  });
  return {{"inserted in random order (goal: at most 1.4)", inserted(order) / absl},
          {"loaded from sorted data (goal: at most 1.1)", loaded / absl},
          {"inserted in ascending order", inserted([](std::uint64_t i) { return i; }) / absl}};
}

template <class Search>
double seconds(Search search) {
  const auto start = std::chrono::steady_clock::now();
  search();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Half of the keys that are searched for are there.
figures finding_many() {
  std::mt19937_64 random(std::random_device{}());
  const random::permutation order(2 * keys, random());
  map held;
  auto handle = held.attach();
  for (std::uint64_t i = 0; i < keys; ++i) handle.insert(order(i), i);
  std::vector<std::uint64_t> wanted(searches);
  std::vector<std::optional<std::uint64_t>> one_by_one(searches);
  std::vector<std::optional<std::uint64_t>> many(searches);
  std::array<double, rounds> ratios{};
  for (double& ratio : ratios) {
    std::ranges::generate(wanted, [&random] { return random() % (2 * keys); });
    const double of_find = seconds([&] {
      for (std::size_t i = 0; i < searches; ++i) one_by_one[i] = handle.find(wanted[i]);
    });
    const double of_find_many = seconds([&] {
      for (std::size_t i = 0; i < searches; i += batch) {
        handle.find_many(std::span<const std::uint64_t>(wanted).subspan(i, batch),
                         std::span(many).subspan(i, batch));
      }
    });
    if (one_by_one != many) throw std::logic_error("find and find_many do not agree");
    ratio = of_find / of_find_many;
  }
  std::ranges::nth_element(ratios, ratios.begin() + rounds / 2);
  return {{"find_many / find (goal: at least 2)", ratios[rounds / 2]}};
}

}  // namespace

int main(int argc, char** argv) try {
  std::string allocator;
  CLI::App cli("Measures bt_map's memory and its searches for many keys at once.");
  cli.add_option("--allocator", allocator, "the allocator that must be in the process");
  CLI11_PARSE(cli, argc, argv);
  if (!allocator.empty()) host::require_allocator(allocator);
  figures told;
  told["resident memory of a million keys, bt_map / absl::btree_map filled in random order"] =
      memory();
  told["throughput with a million keys, one thread"] = finding_many();
  std::cout << told << '\n' << std::flush;
  return std::cout ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
