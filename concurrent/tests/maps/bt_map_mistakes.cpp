// Whether walks through a bt_map whose leaves change in the middle of their steps show the mistake
// that the argument names; without an argument, whether they show none.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/point.h"
#include "assay/maps/bt_map.h"
#include "tests/base/model_mistake.h"
#include "tests/maps/bt_map_test_small.h"

namespace {

using number = std::uint64_t;
using numbers = std::vector<number>;
using map_type = assay::bt_map<number, number, assay::bt_test::small_nodes<number>>;

constexpr number tens = 30;  // keys that stay: 0, 10, 20 and so on

// Keys between those that stay come and go.
class changing {
 public:
  changing(map_type& map, number seed) : handle_(map.attach()), draw_(seed) {
    for (number ten = 0; ten < tens; ++ten) handle_.insert(10 * ten, 1);
  }

  void change() {
    const number ten = draw_() % tens * 10;
    const number one = ten + 1 + draw_() % 9;
    const number other = ten + 1 + draw_() % 9;
    switch (draw_() % 3) {
      case 0:
        for (number key = ten + 1; key < ten + 10; ++key) handle_.insert(key, 1);
        break;
      case 1:
        for (number key = ten + 1; key < ten + 10; ++key) handle_.erase(key);
        break;
      default:  // perhaps to another place of its leaf
        handle_.erase(one);
        handle_.erase(other);
        handle_.insert(other, 1);
    }
  }

  numbers keys() {
    numbers held;
    handle_.iterate([&](number key, number) { held.push_back(key); });
    return held;
  }

 private:
  map_type::handle handle_;
  std::mt19937_64 draw_;
};

// Where a walk is interrupted, and by what; null for nothing.
std::string_view step_point;
std::function<void()> at_a_step;
bool is_in_a_step = false;

void pass(std::string_view point) {
  if (!at_a_step || is_in_a_step || point != step_point) return;
  is_in_a_step = true;  // the changes pass points, too
  at_a_step();
  is_in_a_step = false;
}

// What is wrong with the keys that a walk met, in ascending order.
std::optional<std::string> broken(const numbers& met) {
  for (std::size_t i = 1; i < met.size(); ++i) {
    if (met[i] <= met[i - 1]) return "keys that are not in order";
  }
  for (number ten = 0; ten < tens; ++ten) {
    if (!std::ranges::binary_search(met, 10 * ten)) return "a key that stays is missing";
  }
  return std::nullopt;
}

std::optional<std::string> broken_walk(number seed) {
  map_type map;
  changing changes(map, seed);
  auto handle = map.attach();
  std::mt19937_64 draw(seed);
  std::vector<numbers> moments;  // what the map held at each of a snapshot
  int steps = 0;
  at_a_step = [&] {
    if (draw() % 3 != 0 || steps-- <= 0) return;
    for (number i = draw() % 3; i > 0; --i) changes.change();
    moments.push_back(changes.keys());
  };
  for (int walk = 0; walk < 10; ++walk) {
    const bool is_snapshot = walk % 2 == 0;
    steps = 0;
    moments = {changes.keys()};
    steps = is_snapshot ? 1 : 100;  // after 8 changes a snapshot would lock leaves
    constexpr std::array<std::string_view, 3> points{"bt_map_sibling_found", "bt_map_places_read",
                                                     "visit"};
    step_point = points[draw() % (is_snapshot ? 2 : 3)];
    numbers met;
    const auto visit = [&](number key, number) {
      met.push_back(key);
      pass("visit");
    };
    if (is_snapshot) {
      handle.snapshot(visit);
      if (std::ranges::find(moments, met) == moments.end()) return "a snapshot of no moment";
    } else if (walk % 4 == 1) {
      handle.visit_all(visit);
    } else {
      handle.visit_all_descending(visit);
      std::ranges::reverse(met);
    }
    if (auto what = broken(met)) return what;
  }
  at_a_step = nullptr;
  return map.broken_invariant();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) assay::planted_mistake = argv[1];
  assay::sync::at_points = [](const char* point) { pass(point); };
  for (number seed = 1; seed <= 2000; ++seed) {
    const auto what = broken_walk(seed);
    if (!what) continue;
    std::printf("found by seed %ju: %s\n", std::uintmax_t{seed}, what->c_str());
    return argc > 1 ? 0 : 1;
  }
  std::puts("nothing was found");
  return argc > 1 ? 1 : 0;
}
