// What does assay::bt_map gain apart from threads: memory, searches for many keys at once, updates
// of a value, and ranges?
//
// Memory is what the process grows by for a million keys, each map in a forked child of its own, so
// that none finds what another has freed. find_many and find search one map for the same keys.
// Ranges are of 10, 100 and 1,000 elements, from random keys on, also in an absl::btree_map.

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

struct in_small_pages : bt_policies<std::uint64_t> {
  using allocator = std::allocator<std::byte>;
};

// A map with a million keys, and keys to search for, half of which are there.
template <class Map>
class searched_map {
 public:
  explicit searched_map(std::uint64_t seed) : order_(2 * keys, seed) {
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

  double ns_of_update(std::uint64_t seed) {
    draw(seed);
    return measure::ns_each(searches, [this] {
      for (std::size_t i = 0; i < searches; ++i) {
        handle_.update(wanted_[i], [](std::uint64_t value) { return value + 1; });
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

// A bt_map and an absl::btree_map with the same keys: a random half of twice as many numbers.
class ranged_maps {
 public:
  ranged_maps(std::uint64_t size, std::uint64_t seed) : size_(size) {
    const random::permutation order(2 * size, seed);
    for (std::uint64_t i = 0; i < size; ++i) {
      handle_.insert(order(i), i);
      held_.emplace(order(i), i);
    }
  }

  // Nanoseconds of a range of that many elements on average.
  double ns_in_bt_map(std::uint64_t length, std::uint64_t seed) {
    return ns_of_range(length, seed, [this](std::uint64_t first, std::uint64_t last) {
      std::uint64_t sum = 0;
      handle_.range(first, last, [&](std::uint64_t, std::uint64_t value) { sum += value; });
      return sum;
    });
  }
  double ns_in_btree(std::uint64_t length, std::uint64_t seed) {
    return ns_of_range(length, seed, [this](std::uint64_t first, std::uint64_t last) {
      std::uint64_t sum = 0;
      for (auto at = held_.lower_bound(first); at != held_.end() && at->first <= last; ++at) {
        sum += at->second;
      }
      return sum;
    });
  }

 private:
  template <class SumOf>
  double ns_of_range(std::uint64_t length, std::uint64_t seed, const SumOf& sum_of) const {
    const std::uint64_t count = std::max<std::uint64_t>(1'000'000 / length, 1);
    std::vector<std::uint64_t> firsts(count);
    std::mt19937_64 random(seed);
    std::ranges::generate(firsts, [&] { return random() % (2 * (size_ - length) + 1); });
    std::uint64_t sum = 0;
    const double ns = measure::ns_each(count, [&] {
      for (const std::uint64_t first : firsts) sum += sum_of(first, first + 2 * length - 1);
    });
    fixture::keep(sum);
    return ns;
  }

  std::uint64_t size_;
  map map_;
  map::handle handle_{map_.attach()};
  absl::btree_map<std::uint64_t, std::uint64_t> held_;
};

void add_ranges(fixture::turns& all, ranged_maps& maps, std::uint64_t size) {
  constexpr std::array<std::uint64_t, 3> lengths{10, 100, 1'000};
  for (const std::uint64_t length : lengths) {
    if (length > size) continue;
    const std::string group =
        "ns of a range of " + std::to_string(length) + " among " + std::to_string(size);
    all.add(group, "absl::btree_map",
            [&maps, length](std::uint64_t seed) { return maps.ns_in_btree(length, seed); });
    all.add(group, "bt_map",
            [&maps, length](std::uint64_t seed) { return maps.ns_in_bt_map(length, seed); });
  }
}

fixture::figures figures_of(const fixture::settings& settings) {
  fixture::turns once;
  add_memory(once);
  fixture::figures found = once.run(1, settings.seed);  // before this process holds much itself

  searched_map<map> searched(settings.seed);
  searched.ns_of_find(settings.seed);
  const auto one_by_one = searched.found();
  searched.ns_of_find_many(settings.seed);
  if (one_by_one != searched.found()) throw std::logic_error("find and find_many do not agree");
  searched_map<bt_map<std::uint64_t, std::uint64_t, in_small_pages>> in_small(settings.seed);
  fixture::turns all;
  all.add("ns of a search", "find in small pages",
          [&](std::uint64_t seed) { return in_small.ns_of_find(seed); });
  all.add("ns of a search", "update in small pages",
          [&](std::uint64_t seed) { return in_small.ns_of_update(seed); });
  all.add("ns of a search", "find without a handle",
          [&](std::uint64_t seed) { return searched.ns_of_find_without_handle(seed); });
  all.add("ns of a search", "visit",
          [&](std::uint64_t seed) { return searched.ns_of_visit(seed); });
  all.add("ns of a search", "find", [&](std::uint64_t seed) { return searched.ns_of_find(seed); });
  all.add("ns of a search", "find_many",
          [&](std::uint64_t seed) { return searched.ns_of_find_many(seed); });
  all.add("ns of a search", "update",
          [&](std::uint64_t seed) { return searched.ns_of_update(seed); });
  ranged_maps few(100, settings.seed);
  ranged_maps many(10'000, settings.seed);
  ranged_maps most(keys, settings.seed);
  add_ranges(all, few, 100);
  add_ranges(all, many, 10'000);
  add_ranges(all, most, keys);
  found.update(all.run(settings.rounds, settings.seed));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli("Measures bt_map's memory and its searches.");
  return fixture::run_benchmark(cli, argc, argv, 15, figures_of);
}
