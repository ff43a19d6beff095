// Whether calls of a bt_map, or of a radix_map, that changes in the middle of their steps show the
// mistake that the argument names; without an argument, whether they show none.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/radix_map.h"
#include "tests/base/model_mistake.h"
#include "tests/maps/bt_map_test_small.h"

namespace {

using number = std::uint64_t;
using numbers = std::vector<number>;
#if ASSAY_RADIX_MAP
struct small_nodes : assay::radix_policies<number> {
  static constexpr std::size_t leaf_capacity = 6;
};
#else
using small_nodes = assay::bt_test::small_nodes<number>;
#endif
using map_type = assay::bt_map<number, number, small_nodes>;

constexpr number tens = 30;  // keys that stay: 0, 10, 20 and so on

// The map has these in place of keys. They ascend, and differ in low digits, in higher ones, or in
// digits far from each other.
std::array<number, 10 * tens> in_map;
void choose_keys(number seed) {
  for (number key = 0; key < in_map.size(); ++key) {
    const std::array<number, 3> all{key, key << 7U,
                                    key / 60 << 34U | key / 10 % 6 << 16U | key % 10 << 7U};
    in_map[key] = all[seed % all.size()];
  }
}
number key_of(number met) {
  return static_cast<number>(std::ranges::lower_bound(in_map, met) - in_map.begin());
}

// Keys between those that stay come and go.
class changing {
 public:
  changing(map_type& map, number seed) : handle_(map.attach()), draw_(seed) {
    for (number ten = 0; ten < tens; ++ten) handle_.insert(in_map[10 * ten], 1);
  }

  void change() { change_after(draw_() % tens * 10); }
  void change_after(number ten) {
    const number one = ten + 1 + draw_() % 9;
    const number other = ten + 1 + draw_() % 9;
    switch (draw_() % 4) {
      case 0:
        for (number key = ten + 1; key < ten + 10; ++key) insert(key);
        break;
      case 1:
        for (number key = ten + 1; key < ten + 10; ++key) erase(key);
        break;
      case 2:
        insert(one);
        break;
      default:  // perhaps to another place of its leaf
        erase(one);
        erase(other);
        insert(other);
    }
  }
  // Whether the map forgot or kept what it should not have.
  [[nodiscard]] bool was_answered_wrongly() const { return was_answered_wrongly_; }

  numbers keys() {
    numbers held;
    handle_.iterate([&](number key, number) { held.push_back(key_of(key)); });
    return held;
  }

 private:
  void insert(number key) {
    was_answered_wrongly_ |= handle_.insert(in_map[key], 1) != there_.insert(key).second;
  }
  void erase(number key) {
    was_answered_wrongly_ |= handle_.erase(in_map[key]) != (there_.erase(key) == 1);
  }

  map_type::handle handle_;
  std::mt19937_64 draw_;
  std::set<number> there_;
  bool was_answered_wrongly_ = false;
};

// Where a walk is interrupted, and by what; null for nothing.
std::string_view step_point;
std::function<void()> at_a_step;
bool is_in_a_step = false;

// All calls for one seed pass fewer points, unless one of them waits for what never happens.
constexpr unsigned most_points = 1'000'000;
unsigned points_passed = 0;

// What the program ends with.
int outcome(bool is_found) { return is_found == !assay::planted_mistake.empty() ? 0 : 1; }

void pass(std::string_view point) {
  if (++points_passed > most_points) {
    std::puts("found: a call that does not end");
    std::exit(outcome(true));
  }
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
      met.push_back(key_of(key));
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

// Searches for the keys that stay, from one on, and then changes the last two of them: all at once.
bool answers_many(map_type::handle& handle, number ten, std::array<bool, tens>& is_there) {
  std::array<number, 16> keys{};
  std::array<std::optional<number>, 16> found;
  for (number i = 0; i < keys.size(); ++i) keys[i] = in_map[(ten + i) % tens * 10];
  handle.find_many(keys, found);
  bool is_right = true;
  for (number i = 0; i < keys.size(); ++i) {
    is_right &= found[i].has_value() == is_there[(ten + i) % tens];
  }
  std::array<bool, 2> is_done{};
  const auto changed = std::span<const number>(keys).last(2);
  const bool erases = is_there[(ten + 15) % tens];
  constexpr std::array<number, 2> values{1, 1};
  erases ? handle.erase_many(changed, is_done) : handle.insert_many(changed, values, is_done);
  for (number i = 0; i < 2; ++i) {
    bool& was_there = is_there[(ten + 14 + i) % tens];
    is_right &= is_done[i] == (was_there == erases);
    was_there = !erases;
  }
  return is_right;
}

// Keys that stay go and come back by calls that are interrupted.
std::optional<std::string> broken_update(number seed) {
  map_type map;
  changing changes(map, seed);
  auto handle = map.attach();
  std::mt19937_64 draw(seed);
  std::array<bool, tens> is_there;
  is_there.fill(true);
  number ten = 0;
  int changes_left = 0;
  at_a_step = [&] {
    if (draw() % 2 == 0) return;
    for (; changes_left > 0; --changes_left) {
      draw() % 4 == 0 ? changes.change_after((ten + tens - 1) % tens * 10) : changes.change();
    }
  };
  for (int call = 0; call < 100; ++call) {
    constexpr std::array<std::string_view, 9> points{
        "bt_map_way_edge",          "bt_map_way_place",          "bt_map_leaf_read",
        "bt_map_group_place_found", "bt_map_insert_before_lock", "bt_map_erase_before_lock",
        "bt_map_balance_step",      "bt_map_split_begins",       "bt_map_balance_before_locks"};
    step_point = draw() % 2 == 0 ? points.back() : points[draw() % points.size()];
    changes_left = static_cast<int>(draw() % 8);
    ten = draw() % tens;
    const number key = in_map[10 * ten];
    bool is_right = false;
    const number kind = draw() % 4;
    if (kind == 0) {
      is_right = handle.contains(key) == is_there[ten];
    } else if (kind == 1) {
      is_right = answers_many(handle, ten, is_there);
    } else if (is_there[ten]) {
      is_right = handle.erase(key);
      is_there[ten] = false;
    } else {
      is_right = handle.insert(key, 1);
      is_there[ten] = true;
    }
    if (!is_right || changes.was_answered_wrongly()) return "a wrong answer";
  }
  at_a_step = nullptr;
  for (ten = 0; ten < tens; ++ten) handle.insert(in_map[10 * ten], 1);
  if (auto what = broken(changes.keys())) return what;
  return map.broken_invariant();
}

// A radix_map replaces nodes on the way to a leaf where its keys part from others at a higher
// digit: one of those nodes gets more children meanwhile.
std::optional<std::string> broken_way() {
  map_type map;
  auto handle = map.attach();
  auto other = map.attach();
  numbers all;
  const auto insert = [&all](map_type::handle& by, number key) {
    by.insert(key, 1);
    all.push_back(key);
  };
  for (number key = 0; key < 8; ++key) {
    insert(handle, key << 12U);
    insert(handle, 5U << 16U | key << 12U);
  }
  number more = 0;
  step_point = "bt_map_balance_before_locks";
  at_a_step = [&] {
    for (int i = 0; i < 4; ++i) insert(other, ++more << 6U);
  };
  for (number key = 0; key < 8; ++key) insert(handle, 2U << 16U | key << 12U);
  at_a_step = nullptr;
  for (const number key : all) {
    if (!handle.contains(key)) return "a key is missing";
  }
  return map.broken_invariant();
}
// And a full leaf of neighbouring keys by a direct one: one of them is erased meanwhile.
std::optional<std::string> broken_leaf() {
  map_type map;
  auto handle = map.attach();
  auto other = map.attach();
  for (number key = 0; key < map_type::leaf_capacity; ++key) handle.insert(key, 1);
  step_point = "bt_map_balance_before_locks";
  at_a_step = [&] { other.erase(3); };
  handle.insert(map_type::leaf_capacity, 1);
  at_a_step = nullptr;
  if (handle.contains(3)) return "a key that was erased is there";
  return map.broken_invariant();
}

// Searches for several keys at once, in whose leaf one key comes to the place of another meanwhile.
std::optional<std::string> broken_search() {
  map_type map;
  auto handle = map.attach();
  auto other = map.attach();
  handle.insert(1, 1);
  step_point = "bt_map_group_place_found";
  at_a_step = [&] {
    other.erase(1);
    other.insert(2, 2);
  };
  constexpr std::array<number, 1> keys{1};
  std::array<std::optional<number>, 1> found;
  handle.find_many(keys, found);
  at_a_step = nullptr;
  if (found[0] && found[0] != 1) return "the value of another key";
  return std::nullopt;
}
// Several keys are inserted at once. When the first one is, the last one is there no more: its leaf
// has changed, or was split.
std::optional<std::string> broken_group(bool is_split) {
  map_type map;
  auto handle = map.attach();
  auto other = map.attach();
  for (number ten = 0; ten < tens; ++ten) handle.insert(ten << 20U, 1);
  constexpr std::array<number, 2> keys{1, (tens - 1) << 20U};
  bool is_interrupted = false;
  step_point = "bt_map_insert_before_lock";
  at_a_step = [&] {
    if (std::exchange(is_interrupted, true)) return;
    for (number i = 1; is_split && i < 20; ++i) other.insert(keys[1] - i, 1);
    other.erase(keys[1]);
  };
  constexpr std::array<number, 2> values{1, 1};
  std::array<bool, 2> is_added{};
  handle.insert_many(keys, values, is_added);
  at_a_step = nullptr;
  if (!is_added[0] || !is_added[1]) return "a key that was erased is taken to be there";
  if (!handle.contains(keys[0]) || !handle.contains(keys[1])) return "a key is missing";
  return map.broken_invariant();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) assay::planted_mistake = argv[1];
  assay::sync::at_points = [](const char* point) { pass(point); };
  if (broken_way() || broken_leaf() || broken_search() || broken_group(false) ||
      broken_group(true)) {
    std::puts("found by a call that is always interrupted in the same place");
    return outcome(true);
  }
  for (number seed = 1; seed <= 2000; ++seed) {
    choose_keys(seed);
    points_passed = 0;
    auto what = broken_walk(seed);
    if (!what) what = broken_update(seed);
    if (!what) continue;
    std::printf("found by seed %ju: %s\n", std::uintmax_t{seed}, what->c_str());
    return outcome(true);
  }
  std::puts("nothing was found");
  return outcome(false);
}
