// bt_map among threads: every variant, with marked points at which threads now and then let others
// go on. What they were answered, and what they saw, must be as promised.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "assay/base/point.h"
#include "assay/random/splitmix64.h"
#include "tests/maps/bt_map_test_fixture.h"
#include "tests/maps/bt_map_test_subject.h"
#include "tests/maps/trees_test_fixture.h"

namespace assay {
namespace {

using bt_test::element;
using bt_test::elements;
using bt_test::number;
using bt_test::variant;
using trees_test::in_threads;
using trees_test::slowdown;

class bt_map_among_threads : public bt_test::fixture {
 protected:
  void SetUp() override {
    sync::at_points = [](const char*) {
      thread_local random::splitmix64 draw(
          std::hash<std::thread::id>{}(std::this_thread::get_id()));
      if (draw() % 64 == 0) std::this_thread::yield();
    };
  }
  void TearDown() override {
    sync::at_points = nullptr;
    fixture::TearDown();
  }

  // Whether `work` by some threads goes on: it does until each of the others' has ended.
  class others_work {
   public:
    explicit others_work(unsigned threads) : left_(threads) {}
    void end() { --left_; }
    [[nodiscard]] bool goes_on() const { return left_ > 0; }

   private:
    std::atomic<unsigned> left_;
  };

  // Updates by `updaters` threads, this many each, while others look at it at least once, and as
  // long as there are updates.
  template <class Update, class Look>
  static void look_during_updates(bt_test::subject& map, unsigned updaters, unsigned lookers,
                                  int updates, const Update& update, const Look& look) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    others_work updating(updaters);
    in_threads(updaters + lookers, [&](unsigned self) {
      std::mt19937_64 draw(seed + self);
      const auto handle = map.attach();
      if (self < updaters) {
        for (int i = 0; i < updates; ++i) update(*handle, draw, self);
        updating.end();
      } else {
        do {
          look(*handle, draw);
        } while (updating.goes_on() && !HasFailure());
      }
    });
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }

  // Updates of so few keys that threads meet, and of many.
  static void add_up(unsigned threads, int operations);
};
INSTANTIATE_TEST_SUITE_P(words, bt_map_among_threads,
                         testing::ValuesIn(bt_test::variants_of_words()), bt_test::name_of);
INSTANTIATE_TEST_SUITE_P(records, bt_map_among_threads,
                         testing::ValuesIn(bt_test::variants_of_records()), bt_test::name_of);
INSTANTIATE_TEST_SUITE_P(digits, bt_map_among_threads,
                         testing::ValuesIn(bt_test::variants_of_digits()), bt_test::name_of);

constexpr number is_odd(number key) { return key % 2; }

// Inserts or erases an odd key. The even ones below `keys` are for others.
void update_odd(bt_test::handle& handle, std::mt19937_64& draw, number keys) {
  const number key = draw() % keys | 1;
  switch (draw() % 4) {
    case 0:
      handle.insert(key, key % 200);
      break;
    case 1:
      handle.insert_or_assign(key, key % 200);
      break;
    default:
      handle.erase(key);
  }
}

void bt_map_among_threads::add_up(unsigned threads, int operations) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const number keys : {number{4}, number{24}, number{300}}) {
    const auto map = GetParam().make();
    std::vector<std::atomic<int>> net(keys);  // insertions less erasures
    in_threads(threads, [&](unsigned self) {
      std::mt19937_64 draw(seed + self);
      const auto handle = map->attach();
      for (int i = 0; i < operations; ++i) {
        // Grows and shrinks.
        const bool grows = i / (operations / 6) % 2 == 0;
        const number key = draw() % keys;
        const auto kind = draw() % 8;
        if (draw() % 16 == 0) {
          elements many(draw() % 20);
          for (auto& [each, value] : many) value = (each = draw() % keys) % 200;
          const auto answers = grows ? handle->insert_many(many) : handle->erase_many(many);
          for (std::size_t at = 0; at < many.size(); ++at) {
            if (answers[at]) net[many[at].first] += grows ? 1 : -1;
          }
        } else if (kind < (grows ? 4U : 1U)) {
          if (handle->insert(key, key % 200)) ++net[key];
        } else if (kind < 5) {
          if (handle->erase(key)) --net[key];
        } else if (kind == 5) {
          if (handle->insert_or_assign(key, key % 200)) ++net[key];
        } else if (kind == 6) {
          handle->update(key, [&](number value) {
            EXPECT_EQ(value, key % 200);
            return value;
          });
        } else if (const auto found = handle->find(key)) {
          EXPECT_EQ(found, key % 200);
        }
      }
    });
    std::map<number, number> expected;
    for (number key = 0; key < keys; ++key) {
      ASSERT_TRUE(net[key] == 0 || net[key] == 1) << key;
      if (net[key] == 1) expected.emplace(key, key % 200);
    }
    expect_sound(*map, expected);
    EXPECT_EQ(map->attach()->size(), expected.size());
    map->clear();
    expect_nothing_waits(*map);
  }
}
TEST_P(bt_map_among_threads, adds_up_to_what_they_were_answered) { add_up(4, 4000 / slowdown); }
// More than there are processors: some are always held up in the middle of a call.
TEST_P(bt_map_among_threads, adds_up_also_with_16_threads) { add_up(16, 600 / slowdown); }

TEST_P(bt_map_among_threads, answers_each_as_if_alone_with_its_own_keys) {
  constexpr unsigned threads = 4;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto map = GetParam().make();
  std::vector<std::map<number, number>> models(threads);
  in_threads(threads, [&](unsigned self) {
    std::mt19937_64 draw(seed + self);
    const auto handle = map->attach();
    std::map<number, number>& model = models[self];
    for (int i = 0; i < 8000 / slowdown; ++i) {
      const number key = draw() % 20 * threads + self;
      const number value = draw() % 200;
      switch (draw() % 6) {
        case 0:
          ASSERT_EQ(handle->insert(key, value), model.emplace(key, value).second);
          break;
        case 1:
          ASSERT_EQ(handle->insert_or_assign(key, value),
                    model.insert_or_assign(key, value).second);
          break;
        case 2:
        case 3:
          ASSERT_EQ(handle->erase(key), model.erase(key) == 1);
          break;
        case 4:
          ASSERT_EQ(handle->update(key, [&](number) { return value; }), model.contains(key));
          if (model.contains(key)) model[key] = value;
          break;
        default: {
          const auto held = model.find(key);
          ASSERT_EQ(handle->find(key),
                    held == model.end() ? std::nullopt : std::optional(held->second));
        }
      }
    }
  });
  std::map<number, number> all;
  for (const auto& each : models) all.insert(each.begin(), each.end());
  expect_sound(*map, all);
}

// After all is erased, by many, nothing is left of the tree but a leaf.
TEST_P(bt_map_among_threads, shrinks_to_a_leaf) {
  constexpr unsigned threads = 4;
  const auto map = GetParam().make();
  for (int round = 0; round < (slowdown > 1 ? 2 : 8); ++round) {
    const number keys = number{100} * threads;
    in_threads(threads, [&](unsigned self) {
      const auto handle = map->attach();
      for (number i = 0; i < keys / threads; ++i) {
        EXPECT_TRUE(handle->insert(i * threads + self, 1));
      }
    });
    EXPECT_EQ(map->attach()->size(), keys);
    EXPECT_EQ(map->broken_invariant(), std::nullopt);
    in_threads(threads, [&](unsigned self) {
      const auto handle = map->attach();
      for (number i = 0; i < keys / threads; ++i) EXPECT_TRUE(handle->erase(i * threads + self));
    });
    expect_sound(*map, {});
    map->load_sorted({{7, 7}});  // throws if it is more than a leaf
    EXPECT_TRUE(map->attach()->erase(7));
  }
}

TEST_P(bt_map_among_threads, updates_a_value_at_once) {
  constexpr unsigned threads = 4;
  constexpr number keys = 3;
  const number increments = 3000 / static_cast<number>(slowdown);
  const auto map = GetParam().make();
  for (number key = 0; key < keys; ++key) map->attach()->insert(key, 0);
  in_threads(threads + 1, [&](unsigned self) {
    const auto handle = map->attach();
    for (number i = 0; i < increments; ++i) {
      if (self < threads) {
        const bool was_there = handle->update(
            i % keys, [&](number value) { return (value + 1) & GetParam().most_value; });
        EXPECT_TRUE(was_there);
      } else {  // changes the leaf
        handle->insert(keys + i % 20, 1);
        handle->erase(keys + i * 7 % 20);
      }
    }
  });
  const auto handle = map->attach();
  for (number key = 0; key < keys; ++key) {
    const number of_this_key = increments / keys + (key < increments % keys ? 1 : 0);
    EXPECT_EQ(handle->find(key), (threads * of_this_key) & GetParam().most_value);
  }
}

// Even keys are there all the time, odd ones now and then, those from `keys` on never.
TEST_P(bt_map_among_threads, visits_what_is_there_all_the_time_once) {
  constexpr number keys = 200;
  const auto map = GetParam().make();
  for (number key = 0; key < keys; key += 2) map->attach()->insert(key, key % 200);
  const auto look = [&](bt_test::handle& handle, std::mt19937_64& draw) {
    const auto expect_promised = [&](number first, number last, const auto& walk) {
      std::optional<number> before;
      number evens = 0;
      walk([&](number key, number value) {
        EXPECT_TRUE(!before || *before < key) << *before << " before " << key;
        EXPECT_TRUE(first <= key && key <= last && key < keys) << key;
        EXPECT_EQ(value, key % 200);
        evens += key % 2 == 0 ? 1 : 0;
        before = key;
      });
      const number top = std::min(last, keys - 1);
      EXPECT_EQ(evens, top / 2 + 1 - (first + 1) / 2);
    };
    const number first = draw() % keys;
    const number last = first + draw() % keys;
    if (first / 2 * 2 + 1 < last) {
      expect_promised(first, last, [&](const auto& visit) { handle.range(first, last, visit); });
      expect_promised(first, last,
                      [&](const auto& visit) { handle.range_snapshot(first, last, visit); });
    }
    expect_promised(0, 2 * keys, [&](const auto& visit) { handle.iterate(visit); });
    expect_promised(0, 2 * keys, [&](const auto& visit) { handle.snapshot(visit); });
  };
  look_during_updates(
      *map, 3, 2, 4000 / slowdown,
      [&](bt_test::handle& handle, std::mt19937_64& draw, unsigned) {
        update_odd(handle, draw, keys);
      },
      look);
}

TEST_P(bt_map_among_threads, finds_neighbours_and_extremes) {
  constexpr number keys = 100;
  const auto map = GetParam().make();
  // From 10 on, so that others come and go below the least of these and above the greatest.
  for (number key = 10; key + 10 < keys; key += 2) map->attach()->insert(key, key);
  const auto look = [&](bt_test::handle& handle, std::mt19937_64& draw) {
    const number key = 10 + draw() % (keys - 22);
    const auto even_from = [](number from) { return from + is_odd(from); };
    const auto expect_one_of = [](const std::optional<element>& found, number least,
                                  number greatest) {
      ASSERT_TRUE(found);
      EXPECT_GE(found->first, least);
      EXPECT_LE(found->first, greatest);
      EXPECT_EQ(found->second, found->first);
      if (found->first != greatest) {
        EXPECT_TRUE(is_odd(found->first));
      }
    };
    expect_one_of(handle.lower_bound(key), key, even_from(key));
    expect_one_of(handle.upper_bound(key), key + 1, even_from(key + 1));
    expect_one_of(handle.minimum(), 0, 10);
    const auto greatest = handle.maximum();
    ASSERT_TRUE(greatest);
    EXPECT_TRUE(greatest->first == keys - 12 ||
                (greatest->first > keys - 12 && is_odd(greatest->first)))
        << greatest->first;
    EXPECT_LT(greatest->first, keys);
    std::vector<number> many;
    for (int i = 0; i < 40; ++i) many.push_back(draw() % (2 * keys));
    const auto found = handle.find_many(many);
    for (std::size_t i = 0; i < many.size(); ++i) {
      const bool is_always = !is_odd(many[i]) && 10 <= many[i] && many[i] + 10 < keys;
      const bool is_never = many[i] >= keys || (!is_odd(many[i]) && !is_always);
      EXPECT_TRUE(!is_always || found[i]) << many[i];
      EXPECT_TRUE(!is_never || !found[i]) << many[i];
      if (found[i]) {
        EXPECT_EQ(*found[i], many[i]);
      }
      EXPECT_TRUE(!is_always || handle.contains(many[i]));
    }
  };
  look_during_updates(
      *map, 3, 2, 4000 / slowdown,
      [&](bt_test::handle& handle, std::mt19937_64& draw, unsigned) {
        update_odd(handle, draw, keys);
      },
      look);
}

// Each thread moves an element of its own up and down, which is first where it goes to and then no
// longer where it comes from: at any moment one or two are there. Those that look see as much.
TEST_P(bt_map_among_threads, is_seen_as_of_one_moment) {
  constexpr unsigned movers = 2;
  constexpr number places = 150;  // for each
  const auto map = GetParam().make();
  std::vector<number> at(movers, 0);
  for (number self = 0; self < movers; ++self) map->attach()->insert(self, self);
  look_during_updates(
      *map, movers, 2, 4000 / slowdown,
      [&](bt_test::handle& handle, std::mt19937_64& draw, unsigned self) {
        const number to = (at[self] + 1 + draw() % (places - 1)) % places;
        EXPECT_TRUE(handle.insert(to * movers + self, self));
        EXPECT_TRUE(handle.erase(at[self] * movers + self));
        at[self] = to;
      },
      [&](bt_test::handle& handle, std::mt19937_64& draw) {
        const auto expect_one_moment = [](const auto& walk) {
          std::vector<unsigned> seen(movers, 0);
          walk([&](number key, number value) {
            EXPECT_EQ(key % movers, value);
            ++seen[value];
          });
          for (const unsigned each : seen) EXPECT_TRUE(each == 1 || each == 2) << each;
        };
        expect_one_moment([&](const auto& visit) { handle.snapshot(visit); });
        const number last = places * movers - 1 + draw() % 2;
        expect_one_moment([&](const auto& visit) { handle.range_snapshot(0, last, visit); });
        const std::uint64_t size = handle.size();
        EXPECT_TRUE(size >= movers && size <= std::uint64_t{2} * movers) << size;
        EXPECT_TRUE(handle.minimum());
        EXPECT_TRUE(handle.maximum());
        EXPECT_TRUE(handle.lower_bound(0));
      });
}

// The same for changes of many leaves: all elements are always in one of two generations, and each
// thread replaces its own ones in ascending order. So a snapshot of them is of newer ones up to
// some key, and of older ones from there on.
TEST_P(bt_map_among_threads, is_seen_as_of_one_moment_in_many_leaves) {
  constexpr number keys = 120;
  const auto map = GetParam().make();
  for (number key = 0; key < keys; ++key) map->attach()->insert(key, 0);
  number key_to_change = 0;
  number generation = 1;
  look_during_updates(
      *map, 1, 2, static_cast<int>(keys) * (80 / slowdown),
      [&](bt_test::handle& handle, std::mt19937_64& draw, unsigned) {
        if (draw() % 2 == 0) {
          EXPECT_FALSE(handle.insert_or_assign(key_to_change, generation));
        } else {
          EXPECT_TRUE(handle.update(key_to_change, [&](number) { return generation; }));
        }
        if (++key_to_change == keys) {
          key_to_change = 0;
          generation = (generation + 1) % 100;
        }
      },
      [&](bt_test::handle& handle, std::mt19937_64& draw) {
        const number first = draw() % 20;
        const number last = keys - 1 - draw() % 20;
        elements seen;
        handle.range_snapshot(first, last,
                              [&](number key, number value) { seen.emplace_back(key, value); });
        ASSERT_EQ(seen.size(), last - first + 1);
        unsigned changes = 0;
        for (std::size_t i = 1; i < seen.size(); ++i) {
          if (seen[i].second == seen[i - 1].second) continue;
          ++changes;
          EXPECT_EQ((seen[i].second + 1) % 100, seen[i - 1].second);
        }
        EXPECT_LE(changes, 1U);
      });
}

// If two keys are inserted one after the other, a thread that finds the second then finds the
// first. So does find_many, in which each search is one of its own. Even keys are inserted in some
// order and stay, while odd ones come and go.
TEST_P(bt_map_among_threads, finds_by_find_many_all_that_is_older_than_what_it_found_before) {
  const auto map = GetParam().make();
  const auto updates = static_cast<std::size_t>(1600 / slowdown);
  std::vector<number> in_order(updates);
  for (std::size_t i = 0; i < updates; ++i) in_order[i] = 2 * i;
  std::shuffle(in_order.begin(), in_order.end(), std::mt19937_64(std::random_device{}()));
  // Which of them is about to be inserted. Relaxed, so that the map alone orders the threads.
  std::atomic<std::size_t> about{0};
  const auto finds = [&](bt_test::handle& handle, const std::vector<std::size_t>& sought) {
    std::vector<number> many;
    for (const std::size_t i : sought) many.push_back(in_order[i]);
    return handle.find_many(many);
  };
  look_during_updates(
      *map, 3, 2, static_cast<int>(updates),
      [&](bt_test::handle& handle, std::mt19937_64& draw, unsigned self) {
        if (self > 0) return update_odd(handle, draw, 2 * updates);
        const std::size_t i = about.load(std::memory_order_relaxed);
        EXPECT_TRUE(handle.insert(in_order[i], in_order[i] % 200));
        about.store(i + 1, std::memory_order_relaxed);
      },
      [&](bt_test::handle& handle, std::mt19937_64& draw) {
        const std::size_t now = about.load(std::memory_order_relaxed);
        // More than a group of finds.
        std::vector<std::size_t> sought;
        for (std::size_t i = now - std::min<std::size_t>(now, 20); i < std::min(now + 20, updates);
             ++i) {
          sought.push_back(i);
        }
        std::shuffle(sought.begin(), sought.end(), draw);
        const auto found = finds(handle, sought);
        std::size_t newest = 0;
        for (std::size_t i = 0; i < sought.size(); ++i) {
          if (found[i]) newest = std::max(newest, sought[i]);
        }
        std::erase_if(sought, [&](std::size_t i) { return i > newest; });
        const auto then_found = finds(handle, sought);
        for (std::size_t i = 0; i < sought.size() && newest > 0; ++i) {
          EXPECT_EQ(then_found[i], in_order[sought[i]] % 200) << sought[i] << " of " << newest;
          EXPECT_TRUE(handle.contains(in_order[sought[i]]));
        }
      });
}

// The second of two keys is inserted after the first, and erased before it.
TEST_P(bt_map_among_threads, has_the_second_in_a_snapshot_only_with_the_first) {
  constexpr number pairs = 60;
  const auto map = GetParam().make();
  look_during_updates(
      *map, 1, 2, 4000 / slowdown,
      [&](bt_test::handle& handle, std::mt19937_64& draw, unsigned) {
        const number pair = draw() % pairs;
        if (handle.insert(pair, 1)) {
          EXPECT_TRUE(handle.insert(2 * pairs + pair, 1));
        } else {
          EXPECT_TRUE(handle.erase(2 * pairs + pair));
          EXPECT_TRUE(handle.erase(pair));
        }
      },
      [&](bt_test::handle& handle, std::mt19937_64&) {
        std::vector<bool> is_there(4 * pairs);
        handle.snapshot([&](number key, number) { is_there[key] = true; });
        for (number pair = 0; pair < pairs; ++pair) {
          EXPECT_TRUE(is_there[pair] || !is_there[2 * pairs + pair]) << pair;
        }
      });
}

// Threads come and go, and what they leave behind is freed with the map.
TEST_P(bt_map_among_threads, lets_threads_come_and_go) {
  const auto map = GetParam().make();
  for (int round = 0; round < 10; ++round) {
    in_threads(4, [&](unsigned self) {
      const auto handle = map->attach();
      for (number i = 0; i < 60; ++i) handle->insert_or_assign(i * 7 % 50, self);
      for (number i = 0; i < 60; ++i) handle->erase((i + number{10} * self) % 50);
    });
  }
  EXPECT_EQ(map->broken_invariant(), std::nullopt);
}

// --- calls in the middle of calls ---------------------------------------------------------------

// At a point that a call passes, the same thread changes the map by another handle: just what
// another thread would have done, if it had been let go on there. Nowhere where the call holds a
// lock, nor so often that it takes to locks.
struct interruption {
  std::function<void()> call;
  unsigned left = 0;
  bool inside = false;
};
thread_local interruption* interrupts = nullptr;

constexpr unsigned undisturbed_attempts = 8;  // after which walks take locks

void be_interrupted(const char* point) {
  interruption* const by = interrupts;
  if (by == nullptr || by->inside || by->left == 0) return;
  const std::string_view name(point);
  if (name.ends_with("_locked") || name.ends_with("_before_unlock") ||
      name.starts_with("epochs_")) {
    return;
  }
  by->inside = true;
  by->call();
  by->inside = false;
}

class bt_map_interrupted : public bt_test::fixture {
 protected:
  void SetUp() override { sync::at_points = &be_interrupted; }
  void TearDown() override {
    interrupts = nullptr;
    sync::at_points = nullptr;
    fixture::TearDown();
  }
};
std::vector<variant> optimistic_variants() {
  std::vector<variant> all = bt_test::variants_of_words();
  for (const variant& each : bt_test::variants_of_records()) all.push_back(each);
  for (const variant& each : bt_test::variants_of_digits()) all.push_back(each);
  std::erase_if(all, [](const variant& each) { return each.is_coarse; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(all, bt_map_interrupted, testing::ValuesIn(optimistic_variants()),
                         bt_test::name_of);

// Calls are about even keys, what interrupts them changes odd ones: so their answers are known.
TEST_P(bt_map_interrupted, does_what_std_map_does) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (const number keys : {number{8}, number{40}, number{400}}) {
    const auto map = GetParam().make();
    const auto handle = map->attach();
    const auto other = map->attach();
    std::map<number, number> evens;
    std::map<number, number> odds;
    bool odds_grow = true;
    interruption by;
    by.call = [&] {
      if (draw() % 4 != 0) return;
      --by.left;
      // Often enough to fill or empty a leaf.
      for (number i = draw() % 12; i > 0; --i) {
        const number key = draw() % keys | 1;
        if (odds_grow) {
          EXPECT_EQ(other->insert_or_assign(key, key % 200), odds.emplace(key, key % 200).second);
        } else {
          EXPECT_EQ(other->erase(key), odds.erase(key) == 1);
        }
      }
    };
    interrupts = &by;
    const auto evens_of = [&](const elements& met) {
      elements even;
      for (std::size_t i = 0; i < met.size(); ++i) {
        EXPECT_TRUE(i == 0 || met[i - 1].first < met[i].first);
        if (!is_odd(met[i].first)) even.push_back(met[i]);
      }
      return even;
    };
    for (int i = 0; i < 8000 / slowdown; ++i) {
      const bool grows = i / (1000 / slowdown) % 2 == 0;
      odds_grow = i / (500 / slowdown) % 2 == 0;
      by.left = undisturbed_attempts;
      const number key = draw() % keys / 2 * 2;
      const number value = draw() % 200;
      switch (draw() % 10) {
        case 0:
        case 1:
        case 2:
          if (grows) {
            ASSERT_EQ(handle->insert(key, value), evens.emplace(key, value).second);
          } else {
            ASSERT_EQ(handle->erase(key), evens.erase(key) == 1);
          }
          break;
        case 3:
          ASSERT_EQ(handle->insert_or_assign(key, value),
                    evens.insert_or_assign(key, value).second);
          break;
        case 4:
          ASSERT_EQ(handle->update(key, [&](number) { return value; }), evens.contains(key));
          if (evens.contains(key)) evens[key] = value;
          break;
        case 5: {
          std::vector<number> many;
          std::vector<std::optional<number>> expected;
          for (int at = 0; at < 20; ++at) {
            many.push_back(draw() % keys / 2 * 2);
            const auto held = evens.find(many.back());
            expected.push_back(held == evens.end() ? std::nullopt : std::optional(held->second));
          }
          ASSERT_EQ(handle->find_many(many), expected);
          break;
        }
        case 6: {
          elements met;
          handle->iterate([&](number each, number held) { met.emplace_back(each, held); });
          ASSERT_EQ(evens_of(met), elements(evens.begin(), evens.end()));
          break;
        }
        case 7: {
          elements met;
          handle->snapshot([&](number each, number held) { met.emplace_back(each, held); });
          ASSERT_EQ(evens_of(met), elements(evens.begin(), evens.end()));
          break;
        }
        case 8: {
          const auto next = handle->upper_bound(key);
          const auto next_even = evens.upper_bound(key);
          ASSERT_TRUE(next || next_even == evens.end());
          if (next && !is_odd(next->first)) {
            ASSERT_EQ(*next, element(*next_even));
          } else if (next && next_even != evens.end()) {
            ASSERT_LT(next->first, next_even->first);
          }
          const auto greatest = handle->maximum();
          ASSERT_TRUE(greatest || evens.empty());
          if (greatest && !evens.empty()) {
            ASSERT_GE(greatest->first, evens.rbegin()->first);
          }
          break;
        }
        default: {
          const auto held = evens.find(key);
          ASSERT_EQ(handle->find(key),
                    held == evens.end() ? std::nullopt : std::optional(held->second));
        }
      }
    }
    interrupts = nullptr;
    std::map<number, number> all = evens;
    all.insert(odds.begin(), odds.end());
    expect_sound(*map, all);
    EXPECT_EQ(handle->size(), all.size());
  }
}

// A snapshot that is disturbed again and again locks what it visits, and comes to an end.
TEST_P(bt_map_interrupted, ends_a_snapshot_that_is_disturbed_each_time) {
  const auto map = GetParam().make();
  const auto handle = map->attach();
  const auto other = map->attach();
  std::map<number, number> model;
  for (number key = 0; key < 300; ++key) {
    handle->insert(key, 0);
    model.emplace(key, 0);
  }
  number disturbances = 0;
  interruption by;
  by.call = [&] {
    --by.left;
    ++disturbances;
    // One that is met at once, so that each disturbs another attempt.
    model[0] = disturbances;
    EXPECT_FALSE(other->insert_or_assign(0, disturbances));
  };
  sync::at_points = [](const char* point) {
    if (std::string_view(point) == "bt_map_walk_step") be_interrupted(point);
  };
  interrupts = &by;
  const auto disturbed = [&](const auto& call) {
    disturbances = 0;
    by.left = undisturbed_attempts;
    call();
    EXPECT_EQ(disturbances, undisturbed_attempts);
  };
  disturbed([&] {
    elements met;
    handle->snapshot([&](number key, number value) { met.emplace_back(key, value); });
    EXPECT_EQ(met, elements(model.begin(), model.end()));
  });
  disturbed([&] {
    elements met;
    handle->range_snapshot(0, 290, [&](number key, number value) { met.emplace_back(key, value); });
    EXPECT_EQ(met, elements(model.begin(), model.find(291)));
  });
  disturbed([&] { EXPECT_EQ(handle->size(), 300U); });
  disturbed([&] { EXPECT_EQ(handle->minimum(), element(0, undisturbed_attempts)); });
  disturbed([&] { EXPECT_EQ(handle->lower_bound(0), element(0, undisturbed_attempts)); });
  interrupts = nullptr;
  EXPECT_EQ(map->broken_invariant(), std::nullopt);
  EXPECT_TRUE(other->erase(0)) << "the locks were given back";
}

thread_local unsigned walk_waits = 0;  // how often a walk found changed what it was to lock

// The first leaf or the last changes wherever a snapshot might meet that, until the snapshot, which
// has taken to locks by then, finds that it cannot lock it: it reads that leaf anew, and holds on
// to those before.
TEST_P(bt_map_interrupted, reads_anew_what_was_changed_before_it_was_locked) {
  const auto map = GetParam().make();
  const auto handle = map->attach();
  const auto other = map->attach();
  std::map<number, number> model;
  for (number key = 0; key < 300; ++key) {
    handle->insert(key, 0);
    model.emplace(key, 0);
  }
  sync::at_points = [](const char* point) {
    const std::string_view name(point);
    if (name == "bt_map_walk_waits") ++walk_waits;
    if (name == "bt_map_walk_step" || name == "bt_map_walk_before_lock") be_interrupted(point);
  };
  for (const number changed : {number{0}, number{299}}) {
    walk_waits = 0;
    interruption by;
    by.left = 1;
    by.call = [&] {
      if (walk_waits > 0) return;
      model[changed] = (model[changed] + 1) % 200;
      EXPECT_FALSE(other->insert_or_assign(changed, model[changed]));
    };
    interrupts = &by;
    elements met;
    handle->snapshot([&](number key, number value) { met.emplace_back(key, value); });
    interrupts = nullptr;
    EXPECT_EQ(met, elements(model.begin(), model.end()));
    EXPECT_EQ(walk_waits, 1U);
  }
  EXPECT_EQ(map->broken_invariant(), std::nullopt);
  EXPECT_TRUE(other->erase(0) && other->erase(299)) << "the locks were given back";
}

// The keys of one call are sought together, and take effect one after the other: what another
// thread does after the first one's change comes before the answer about the second one, whether
// that is in the same leaf or not.
TEST_P(bt_map_interrupted, answers_many_in_the_order_of_their_keys) {
  using answers = std::vector<std::optional<number>>;
  for (const number second : {number{1}, number{299}}) {
    const auto map = GetParam().make();
    const auto handle = map->attach();
    const auto other = map->attach();
    for (number key = 1; key < 300; ++key) handle->insert(key, 0);
    interruption by;
    interrupts = &by;
    sync::at_points = [](const char* point) {
      if (std::string_view(point) == "bt_map_insert_before_lock") be_interrupted(point);
    };
    by.left = 1;
    by.call = [&] {
      --by.left;
      EXPECT_TRUE(other->erase(second));
      EXPECT_FALSE(other->contains(0));
    };
    EXPECT_EQ(handle->insert_many({{0, 0}, {second, 0}}), (answers{1, 1}));
    EXPECT_EQ(by.left, 0U);

    EXPECT_TRUE(handle->erase(second));
    sync::at_points = [](const char* point) {
      if (std::string_view(point) == "bt_map_erase_before_lock") be_interrupted(point);
    };
    by.left = 1;
    by.call = [&] {
      --by.left;
      EXPECT_TRUE(other->insert(second, 0));
      EXPECT_TRUE(other->contains(0));
    };
    EXPECT_EQ(handle->erase_many({{0, 0}, {second, 0}}), (answers{1, 1}));
    EXPECT_EQ(by.left, 0U);
    interrupts = nullptr;
    EXPECT_EQ(handle->size(), 298U);
    EXPECT_EQ(map->broken_invariant(), std::nullopt);
  }
}

// A leaf that is to be split because it is full is emptied before it is read.
TEST_P(bt_map_interrupted, splits_no_leaf_that_was_emptied) {
  const auto map = GetParam().make();
  const auto handle = map->attach();
  const auto other = map->attach();
  const number capacity = GetParam().leaf_capacity;
  for (number key = 0; key < capacity; ++key) handle->insert(key, 1);
  interruption by;
  by.left = 1;
  by.call = [&] {
    --by.left;
    for (number key = 0; key < capacity; ++key) EXPECT_TRUE(other->erase(key));
  };
  sync::at_points = [](const char* point) {
    if (std::string_view(point) == "bt_map_split_begins") be_interrupted(point);
  };
  interrupts = &by;
  EXPECT_TRUE(handle->insert(capacity, 1));
  interrupts = nullptr;
  EXPECT_EQ(by.left, 0U);
  expect_sound(*map, {{capacity, 1}});
}

// What a leaf had at no moment: its only high key has gone, another came that is higher, and low
// ones stand in every place.
TEST_P(bt_map_interrupted, reads_no_leaf_half_before_a_change_and_half_after) {
  const number capacity = GetParam().leaf_capacity;
  sync::at_points = [](const char* point) {
    if (std::string_view(point) == "bt_map_places_read") be_interrupted(point);
  };
  const auto interrupted = [&](const auto& call) {
    const auto map = GetParam().make();
    const auto handle = map->attach();
    const auto other = map->attach();
    elements after;
    handle->insert(5, 0);
    handle->insert(1000, 0);
    interruption by;
    by.left = 1;
    by.call = [&] {
      --by.left;
      other->insert(2000, 0);
      other->erase(1000);
      after = {{5, 0}};
      for (number key = 6; after.size() + 1 < capacity; ++key) {
        other->insert(key, 0);
        after.emplace_back(key, 0);
      }
      after.emplace_back(2000, 0);
    };
    interrupts = &by;
    call(*handle, after);
    interrupts = nullptr;
    EXPECT_EQ(by.left, 0U);
  };
  interrupted([](auto& handle, const elements& after) {
    const auto greatest = handle.maximum();
    EXPECT_EQ(greatest, after.back());
  });
  interrupted([](auto& handle, const elements& after) {
    const auto above = handle.lower_bound(500);
    EXPECT_EQ(above, after.back());
  });
  interrupted([](auto& handle, const elements& after) {
    elements met;
    handle.snapshot([&](number key, number value) { met.emplace_back(key, value); });
    EXPECT_EQ(met, after);
  });
  interrupted([](auto& handle, const elements& after) {
    elements met;
    handle.iterate([&](number key, number value) { met.emplace_back(key, value); });
    EXPECT_EQ(met, after);
  });
}

}  // namespace
}  // namespace assay
