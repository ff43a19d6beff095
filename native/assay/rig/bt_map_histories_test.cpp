// The operations of bt_map that the rig does not ask subjects for, among threads: recorded and
// judged as the rig's own. What is asked of several keys is told to the judge as a range: that
// lower_bound(3) answered 7 says that, at one moment, 7 was all there was from 3 to 7.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/maps/bt_map_test_fixture.h"
#include "assay/maps/bt_map_test_subject.h"
#include "assay/maps/trees_test_fixture.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/clock.h"
#include "assay/rig/disturbance.h"
#include "assay/rig/linearizability.h"
#include "assay/rig/preemption.h"
#include "assay/trial/crew.h"

namespace assay::rig {
namespace {

using bt_test::element;
using bt_test::elements;
using bt_test::number;
using nlohmann::json;
using random::splitmix64;

constexpr unsigned threads = 3;
constexpr number greatest = UINT64_MAX;

// Nodes of 6, so that a few keys are in several of them.
std::vector<bt_test::variant> variants() {
  using bt::coarse;
  using bt::optimistic;
  using bt::optimistic_replacing;
  using bt_test::variant_of;
  using small = bt_capacities<6, 6>;
  using std::string;
  using std::uint64_t;
  return {
      variant_of<uint64_t, uint64_t, optimistic, small>("uint64_uint64"),
      variant_of<uint64_t, string, optimistic_replacing, small>("uint64_string_replacing"),
      variant_of<string, uint64_t, optimistic, small>("string_uint64"),
      variant_of<string, string, optimistic_replacing, small>("string_string_replacing"),
      variant_of<string, uint64_t, coarse<std::mutex>, small>("string_uint64_coarse_mutex"),
  };
}

// What a thread did and was answered, in the judge's words.
struct told {
  const char* op;
  number key = 0;
  number value_or_last = 0;
  std::variant<bool, std::optional<number>, elements, number> answer;
  std::uint64_t call = 0;
  std::uint64_t end = 0;

  [[nodiscard]] bool changes() const {
    const std::string_view kind(op);
    if (kind == "update") return std::get<std::optional<number>>(answer).has_value();
    if (kind == "insert_or_assign") return true;
    return (kind == "insert" || kind == "erase") && std::get<bool>(answer);
  }
  [[nodiscard]] bool tells_of(number other) const {
    const std::string_view kind(op);
    if (kind == "snapshot" || kind == "size") return true;
    return kind == "range" ? key <= other && other <= value_or_last : key == other;
  }
};

// A thread's access to the map, which notes what it is asked.
class witness {
  // Declared first, as its answers' types follow from it.
  template <class Call>
  auto timed(const Call& call) {
    call_ = clock_.before();
    auto answer = call();
    end_ = clock_.after();
    return answer;
  }

 public:
  witness(bt_test::subject& map, const stamp_clock& clock) : handle_(map.attach()), clock_(clock) {}

  void forget() { all_.clear(); }
  [[nodiscard]] const std::vector<told>& all() const { return all_; }

  void insert(number key, number value) {
    const bool added = timed([&] { return handle_->insert(key, value); });
    note("insert", key, value, added);
  }
  void insert_or_assign(number key, number value) {
    const bool added = timed([&] { return handle_->insert_or_assign(key, value); });
    note("insert_or_assign", key, value, added);
  }
  void update(number key, number value) {
    std::optional<number> replaced;
    const bool was_there = timed([&] {
      return handle_->update(key, [&](number held) {
        replaced = held;
        return value;
      });
    });
    note("update", key, value, was_there ? replaced : std::nullopt);
  }
  void erase(number key) {
    const bool erased = timed([&] { return handle_->erase(key); });
    note("erase", key, 0, erased);
  }
  void find(number key) {
    const auto found = timed([&] { return handle_->find(key); });
    note("find", key, 0, found);
  }
  // That it is there says as much as an insert that did nothing.
  void contains(number key) {
    const bool is_there = timed([&] { return handle_->contains(key); });
    if (is_there) {
      note("insert", key, 0, false);
    } else {
      note("find", key, 0, std::optional<number>());
    }
  }
  void find_many(const std::vector<number>& keys) {
    const auto found = timed([&] { return handle_->find_many(keys); });
    for (std::size_t i = 0; i < keys.size(); ++i) note("find", keys[i], 0, found[i]);
  }
  void lower_bound(number key) {
    note_least(key, timed([&] { return handle_->lower_bound(key); }));
  }
  void next(number key) {
    note_least(key + 1, timed([&] { return handle_->next(key); }));
  }
  void minimum() {
    note_least(0, timed([&] { return handle_->minimum(); }));
  }
  void maximum() {
    const auto found = timed([&] { return handle_->maximum(); });
    note("range", found ? found->first : 0, greatest, alone(found));
  }
  void range_snapshot(number first, number last) {
    elements met;
    timed([&] {
      handle_->range_snapshot(first, last,
                              [&](number key, number value) { met.emplace_back(key, value); });
      return 0;
    });
    note("range", first, last, met);
  }
  void snapshot() {
    elements met;
    timed([&] {
      handle_->snapshot([&](number key, number value) { met.emplace_back(key, value); });
      return 0;
    });
    note("snapshot", 0, 0, met);
  }
  void size() {
    const number size = timed([&] { return handle_->size(); });
    note("size", 0, 0, size);
  }

 private:
  template <class Answer>
  void note(const char* op, number key, number value_or_last, const Answer& answer) {
    all_.push_back({op, key, value_or_last, answer, call_, end_});
  }
  static elements alone(const std::optional<element>& found) {
    return found ? elements{*found} : elements{};
  }
  void note_least(number from, const std::optional<element>& found) {
    note("range", from, found ? found->first : greatest, alone(found));
  }

  std::unique_ptr<bt_test::handle> handle_;
  const stamp_clock& clock_;
  std::vector<told> all_;
  std::uint64_t call_ = 0;
  std::uint64_t end_ = 0;
};

// One operation, drawn; `value` is one that no other leaves.
using act = std::function<void(witness&, splitmix64& draw, number keys, number value)>;

void act_on_one_key(witness& mine, splitmix64& draw, number keys, number value) {
  const number key = 1 + draw() % keys;
  switch (draw() % 8) {
    case 0:
      return mine.insert(key, value);
    case 1:
    case 2:
      return mine.insert_or_assign(key, value);
    case 3:
    case 4:
      return mine.update(key, value);
    case 5:
      return mine.erase(key);
    case 6:
      return mine.contains(key);
    default: {
      // More than a group of finds, most of which are of keys that nobody inserts.
      std::vector<number> many;
      for (number each = 1; each <= 20; ++each) many.push_back(each);
      std::ranges::rotate(many, many.begin() + static_cast<std::ptrdiff_t>(draw() % 20));
      return mine.find_many(many);
    }
  }
}

void act_on_several_keys(witness& mine, splitmix64& draw, number keys, number value) {
  const number key = 1 + draw() % keys;
  switch (draw() % 14) {
    case 0:
    case 1:
      return mine.insert(key, value);
    case 2:
      return mine.insert_or_assign(key, value);
    case 3:
      return mine.update(key, value);
    case 4:
    case 5:
    case 6:
      return mine.erase(key);
    case 7:
      return mine.lower_bound(key);
    case 8:
      return mine.next(key - 1);
    case 9:
      return mine.minimum();
    case 10:
      return mine.maximum();
    case 11:
      return mine.range_snapshot(key, key + draw() % keys);
    case 12:
      return mine.snapshot();
    default:
      return mine.size();
  }
}

class bt_map_histories : public testing::TestWithParam<bt_test::variant> {
 protected:
  // Of threads that each do this many operations on at most this many keys, again and again.
  static void expect_linearizable(number operations, number most_keys, const act& acts) {
    constexpr std::uint64_t histories = 600 / trees_test::slowdown;
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    splitmix64 draw(seed);
    const stamp_clock clock;
    const auto map = GetParam().make();
    std::vector<std::unique_ptr<witness>> witnesses(threads);
    trial::crew crew(threads);
    crew.run([&](unsigned self) { witnesses[self] = std::make_unique<witness>(*map, clock); });
    const disturb_at_points disturbed;
    checker judge(histories);
    elements start;
    std::uint64_t meeting = 0;
    for (std::uint64_t history = 0; history < histories; ++history) {
      const number keys = 1 + draw() % most_keys;
      std::array<std::uint64_t, threads> seeds{};
      for (auto& each : seeds) each = draw();
      std::atomic<unsigned> missing{threads};
      crew.run([&](unsigned self) {
        splitmix64 mine(seeds.at(self));
        disturbance strikes(mine());
        witnesses[self]->forget();
        // They begin together. Relaxed, so that this does not order what they do.
        missing.fetch_sub(1, std::memory_order_relaxed);
        while (missing.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
        const disturbance::here here(strikes);
        const preemption preempted(mine());
        for (number i = 0; i < operations; ++i) {
          const number value = (history * threads + self) * operations + i + 1;
          acts(*witnesses[self], mine, keys, value);
        }
      });
      const elements end = map->contents();
      judge.take(line_of(history, seed, start, witnesses, end, clock));
      if (has_met(witnesses)) ++meeting;
      start = end;
      ASSERT_EQ(map->broken_invariant(), std::nullopt);
    }
    EXPECT_EQ(judge.verdict(), judgement::linearizable);
    // That the histories are worth it. It was 384 of 600 of them and more.
    EXPECT_GE(meeting, histories / 10);
  }

 private:
  static std::string line_of(std::uint64_t history, std::uint64_t seed, const elements& start,
                             const std::vector<std::unique_ptr<witness>>& witnesses,
                             const elements& end, const stamp_clock& clock) {
    json operations = json::array();
    const std::uint64_t first = witnesses[0]->all().front().call;
    for (unsigned self = 0; self < threads; ++self) {
      for (const told& each : witnesses[self]->all()) {
        operations.push_back({{"thread", self},
                              {"op", each.op},
                              {"key", each.key},
                              {"value", each.value_or_last},
                              {"last", each.value_or_last},
                              {"call", clock.ns(each.call, first)},
                              {"return", clock.ns_up(each.end, first)},
                              {"answer", std::visit(as_json, each.answer)}});
      }
    }
    const json line{{"map", GetParam().name},   {"seed", seed},
                    {"number", history},        {"start", start},
                    {"operations", operations}, {"end", end}};
    return line.dump() + "\n";
  }
  static constexpr auto as_json = [](const auto& answer) -> json {
    if constexpr (requires { answer.has_value(); }) {
      return answer ? json(*answer) : json(nullptr);
    } else {
      return json(answer);
    }
  };

  // Whether one thread changed what another was told of at that time.
  static bool has_met(const std::vector<std::unique_ptr<witness>>& witnesses) {
    for (const auto& one : witnesses) {
      for (const auto& other : witnesses) {
        if (one == other) continue;
        for (const told& a : one->all()) {
          if (!a.changes()) continue;
          for (const told& b : other->all()) {
            if (b.tells_of(a.key) && a.call <= b.end && b.call <= a.end) return true;
          }
        }
      }
    }
    return false;
  }
};
INSTANTIATE_TEST_SUITE_P(all, bt_map_histories, testing::ValuesIn(variants()), bt_test::name_of);

TEST_P(bt_map_histories, of_calls_about_one_key_and_of_find_many_are_linearizable) {
  expect_linearizable(6, 10, act_on_one_key);
}
// Short, because they cannot be judged key by key.
TEST_P(bt_map_histories, of_calls_about_several_keys_are_linearizable) {
  expect_linearizable(4, 16, act_on_several_keys);
}

}  // namespace
}  // namespace assay::rig
