// What does assay::bt_map gain apart from threads: memory, and searches for many keys at once?
//
// Memory is what the process grows by for a million keys, each map in a forked child of its own, so
// that none finds what another has freed. find_many and find search one map for the same keys.

#include <absl/container/btree_map.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "assay/fixture/benchmark.h"
#include "assay/fixture/keep.h"
#include "assay/host/usage.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/large_pages.h"
#include "assay/measure/ns_each.h"
#include "assay/random/permutation.h"

namespace {

using namespace assay;

constexpr std::uint64_t keys = 1'000'000;
constexpr std::size_t searches = 1 << 18;
constexpr std::size_t batch = 64;  // keys that find_many is given at once

using map = bt_map<std::uint64_t, std::uint64_t>;

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
    fixture::keep(filled);
    grown = static_cast<double>(host::resident_bytes()) - before;
    _exit(write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
  }
  close(ends[1]);
  const bool reported = read(ends[0], &grown, sizeof grown) == sizeof grown;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!reported || status != 0)
    throw std::runtime_error("a child process did not report its memory");
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

void add_memory(fixture::turns& all) {
  constexpr const char* group = "bytes of a million keys";
  all.add(group, "absl::btree_map, inserted in random order", [](std::uint64_t seed) {
    return growth([order = random::permutation(keys, seed)] {
      absl::btree_map<std::uint64_t, std::uint64_t> held;
      for (std::uint64_t i = 0; i < keys; ++i) held.emplace(order(i), i);
      return held;
    });
  });
  all.add(group, "bt_map, inserted in random order",
          [](std::uint64_t seed) { return inserted(random::permutation(keys, seed)); });
  // Made once for all turns. A child would use what this process has freed again, and seem to grow
  // by less.
  const auto sorted = std::make_shared<std::vector<std::pair<std::uint64_t, std::uint64_t>>>(keys);
  for (std::uint64_t i = 0; i < keys; ++i) (*sorted)[i] = {i, i};
  all.add(group, "bt_map, loaded from sorted data", [sorted](std::uint64_t) {
    return growth([&sorted] {
      auto held = std::make_unique<map>();
      held->load_sorted(sorted->begin(), sorted->end());
      return held;
    });
  });
  all.add(group, "bt_map, inserted in ascending order",
          [](std::uint64_t) { return inserted([](std::uint64_t i) { return i; }); });
}

struct in_resource : bt_policies<std::uint64_t> {
  using allocator = std::pmr::polymorphic_allocator<std::byte>;
};

// A map with a million keys, and keys to search for, half of which are there. It is made of `from`.
template <class Map>
class searched_map {
 public:
  template <class... From>
  explicit searched_map(std::uint64_t seed, From... from) : order_(2 * keys, seed), map_(from...) {
    for (std::uint64_t i = 0; i < keys; ++i) handle_.insert(order_(i), i);
  }

  double ns_of_find(std::uint64_t seed) {
    draw(seed);
    return measure::ns_each(searches, [this] {
      for (std::size_t i = 0; i < searches; ++i) found_[i] = handle_.find(wanted_[i]);
    });
  }

  double ns_of_find_without_handle(std::uint64_t seed) {
    draw(seed);
    return measure::ns_each(searches, [this] {
      for (std::size_t i = 0; i < searches; ++i) found_[i] = map_.find(wanted_[i]);
    });
  }

  double ns_of_visit(std::uint64_t seed) {
    draw(seed);
    return measure::ns_each(searches, [this] {
      for (std::size_t i = 0; i < searches; ++i) {
        found_[i].reset();
        handle_.visit(wanted_[i], [&](std::uint64_t, std::uint64_t value) { found_[i] = value; });
      }
    });
  }

  double ns_of_find_many(std::uint64_t seed) {
    draw(seed);
    return measure::ns_each(searches, [this] {
      for (std::size_t i = 0; i < searches; i += batch) {
        handle_.find_many(std::span<const std::uint64_t>(wanted_).subspan(i, batch),
                          std::span(found_).subspan(i, batch));
      }
    });
  }

  // What the last searches found.
  [[nodiscard]] const std::vector<std::optional<std::uint64_t>>& found() const { return found_; }

 private:
  void draw(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::ranges::generate(wanted_, [&random] { return random() % (2 * keys); });
  }

  random::permutation order_;
  Map map_;
  typename Map::handle handle_{map_.attach()};
  std::vector<std::uint64_t> wanted_ = std::vector<std::uint64_t>(searches);
  std::vector<std::optional<std::uint64_t>> found_ =
      std::vector<std::optional<std::uint64_t>>(searches);
};

fixture::figures figures_of(const fixture::settings& settings) {
  fixture::turns once;
  add_memory(once);
  fixture::figures found = once.run(1, settings.seed);  // before this process holds much itself

  searched_map<map> searched(settings.seed);
  searched.ns_of_find(settings.seed);
  const auto one_by_one = searched.found();
  searched.ns_of_find_many(settings.seed);
  if (one_by_one != searched.found()) throw std::logic_error("find and find_many do not agree");
  large_pages pages;
  std::pmr::synchronized_pool_resource pool(&pages);
  searched_map<bt_map<std::uint64_t, std::uint64_t, in_resource>> in_large_pages(settings.seed,
                                                                                 &pool);
  fixture::turns all;
  all.add("ns of a search", "find in large pages",
          [&](std::uint64_t seed) { return in_large_pages.ns_of_find(seed); });
  all.add("ns of a search", "find without a handle",
          [&](std::uint64_t seed) { return searched.ns_of_find_without_handle(seed); });
  all.add("ns of a search", "visit",
          [&](std::uint64_t seed) { return searched.ns_of_visit(seed); });
  all.add("ns of a search", "find", [&](std::uint64_t seed) { return searched.ns_of_find(seed); });
  all.add("ns of a search", "find_many",
          [&](std::uint64_t seed) { return searched.ns_of_find_many(seed); });
  found.update(all.run(settings.rounds, settings.seed));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli("Measures bt_map's memory and its searches.");
  return fixture::run_benchmark(cli, argc, argv, 15, figures_of);
}
