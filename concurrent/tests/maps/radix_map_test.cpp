// radix_map with keys that lead it to rare places, by one thread: against std::map. What it has in
// common with bt_map is tested with that (variants_of_digits()).

#include "assay/maps/radix_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {
namespace {

// Leaves so small that few keys need many nodes.
template <class K>
struct small : radix_policies<K> {
  static constexpr std::size_t leaf_capacity = 6;
};

// A map, and what it is to hold.
template <class K, class Policies = small<K>>
class modelled {
 public:
  using map_type = radix_map<K, std::uint32_t, Policies>;
  using elements = std::vector<std::pair<K, std::uint32_t>>;

  map_type map;
  typename map_type::handle handle = map.attach();
  std::map<K, std::uint32_t> model;

  void insert(const K& key) {
    const auto value = static_cast<std::uint32_t>(model.size());
    ASSERT_EQ(handle.insert(key, value), model.emplace(key, value).second);
    ASSERT_TRUE(handle.contains(key));
  }
  void erase(const K& key) { ASSERT_EQ(handle.erase(key), model.erase(key) == 1); }

  void expect_same_walks() {
    ASSERT_EQ(map.broken_invariant(), std::nullopt);
    const elements all(model.begin(), model.end());
    elements met;
    const auto meet = [&](const K& key, std::uint32_t value) { met.emplace_back(key, value); };
    handle.iterate(meet);
    ASSERT_EQ(met, all);
    met.clear();
    handle.snapshot(meet);
    ASSERT_EQ(met, all);
    met.clear();
    handle.visit_all_descending(meet);
    std::ranges::reverse(met);
    ASSERT_EQ(met, all);
    met.clear();
    map.for_each(meet);
    ASSERT_EQ(met, all);
  }
  void expect_same_around(const K& key) {
    const auto element_at = [&](auto at) {
      return at == model.end() ? std::nullopt : std::optional<std::pair<K, std::uint32_t>>(*at);
    };
    const auto before = [&](auto at) { return at == model.begin() ? model.end() : std::prev(at); };
    const auto from = model.lower_bound(key);
    const auto after = model.upper_bound(key);
    ASSERT_EQ(handle.contains(key), model.contains(key));
    ASSERT_EQ(handle.lower_bound(key), element_at(from));
    ASSERT_EQ(handle.upper_bound(key), element_at(after));
    ASSERT_EQ(handle.floor(key), element_at(before(after)));
    ASSERT_EQ(handle.predecessor(key), element_at(before(from)));
    // To a few elements further on.
    auto last = from;
    elements expected;
    while (last != model.end() && expected.size() < 20) expected.emplace_back(*last++);
    if (expected.empty()) return;
    elements met;
    const auto meet = [&](const K& met_key, std::uint32_t value) {
      met.emplace_back(met_key, value);
    };
    handle.range(key, expected.back().first, meet);
    ASSERT_EQ(met, expected);
    met.clear();
    handle.visit_range_descending(key, expected.back().first, meet);
    std::ranges::reverse(met);
    ASSERT_EQ(met, expected);
  }
};

// Orders of some things: each once.
using order = std::vector<std::size_t>;
order ascending(std::size_t size) {
  order all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}
order descending(std::size_t size) {
  order all = ascending(size);
  std::ranges::reverse(all);
  return all;
}
order from_both_ends(std::size_t size) {
  order all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = i % 2 == 0 ? i / 2 : size - 1 - i / 2;
  return all;
}
order bits_reversed(std::size_t size) {
  order all;
  for (std::uint32_t i = 0; i < 1U << 17U; ++i) {
    std::uint32_t reversed = 0;
    for (unsigned bit = 0; bit < 17; ++bit) reversed |= (i >> bit & 1U) << (16 - bit);
    if (reversed < size) all.push_back(reversed);
  }
  return all;
}
order shuffled(std::size_t size) {
  order all = ascending(size);
  std::ranges::shuffle(all, std::mt19937_64(size));
  return all;
}
constexpr std::array<order (*)(std::size_t), 5> orders{ascending, descending, from_both_ends,
                                                       bits_reversed, shuffled};

// Inserts all keys and erases them again, in one order after the other, and looks at the map about
// this many times on each way.
template <class Policies, class K>
void expect_is_a_map(const std::vector<K>& keys, std::size_t looks) {
  const std::size_t pause = keys.size() / looks + 1;
  modelled<K, Policies> both;
  for (std::size_t turn = 0; turn < orders.size(); ++turn) {
    const auto in_order = [&](std::size_t which, const auto& change) {
      std::size_t step = 0;
      for (const std::size_t at : orders[which % orders.size()](keys.size())) {
        change(keys[at]);
        if (++step % pause == 0) {
          both.expect_same_walks();
          both.expect_same_around(keys[at]);
          both.expect_same_around(keys[keys.size() - 1 - at]);
        }
        if (testing::Test::HasFatalFailure()) return;
      }
    };
    in_order(turn, [&](const K& key) { both.insert(key); });
    in_order(turn + turn / 2 + 1, [&](const K& key) { both.erase(key); });
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_EQ(both.map.shape().nodes, 1U) << "a leaf is left";
  }
  // Loads some, and adds those around them.
  modelled<K, Policies> loaded;
  for (std::size_t i = keys.size() / 4; i < keys.size() / 2; ++i) loaded.model.emplace(keys[i], 7);
  loaded.map.load_sorted(loaded.model.begin(), loaded.model.end());
  loaded.expect_same_walks();
  for (const std::size_t at : shuffled(keys.size())) loaded.insert(keys[at]);
  loaded.expect_same_walks();
  for (std::size_t i = 0; i < keys.size(); i += pause) loaded.expect_same_around(keys[i]);
}
template <class K>
void expect_is_a_map(std::vector<K> keys) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  expect_is_a_map<small<K>>(keys, 60);
}

// --- integers -----------------------------------------------------------------------------------

// Numbers around each power of two and around others that have many digits.
template <class K>
std::vector<K> edges() {
  using number = std::make_unsigned_t<K>;
  std::vector<K> keys;
  const auto around = [&](std::uint64_t key) {
    for (std::uint64_t by = 0; by < 5; ++by) {
      keys.push_back(static_cast<K>(static_cast<number>(key + by - 2)));
    }
  };
  for (unsigned bit = 0; bit < sizeof(K) * 8; ++bit) {
    around(std::uint64_t{1} << bit);
    around(~(std::uint64_t{1} << bit));
    around(std::uint64_t{0x55} << bit);
  }
  return keys;
}

TEST(radix_map, takes_integers_at_all_edges) {
  expect_is_a_map(edges<std::uint64_t>());
  expect_is_a_map(edges<std::int32_t>());
  expect_is_a_map(edges<char>());
}
TEST(radix_map, takes_other_integers) {
  radix_map<bool, int> truths;
  auto of_truths = truths.attach();
  EXPECT_TRUE(of_truths.insert(true, 1));
  EXPECT_EQ(of_truths.lower_bound(false), std::pair(true, 1));
  EXPECT_EQ(of_truths.floor(false), std::nullopt);
  EXPECT_TRUE(of_truths.insert(false, 0));
  EXPECT_FALSE(of_truths.insert(true, 2));
  EXPECT_EQ(of_truths.minimum(), std::pair(false, 0));

  radix_map<char32_t, int, small<char32_t>> characters;
  auto of_characters = characters.attach();
  for (char32_t c = 0; c < 200; ++c) EXPECT_TRUE(of_characters.insert(c * c * c, 1));
  for (char32_t c = 0; c < 200; ++c) EXPECT_EQ(of_characters.floor(c * c * c + 1)->second, 1);
  EXPECT_EQ(characters.broken_invariant(), std::nullopt);
}

// Each digit of an inner node leads to something else, and all of them to as little as possible.
TEST(radix_map, takes_integers_that_fill_a_digit) {
  for (const unsigned shift : {0U, 6U, 14U, 54U}) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 1024; ++i) keys.push_back(i << shift);
    expect_is_a_map<small<std::uint64_t>>(keys, 5);
    expect_is_a_map<radix_policies<std::uint64_t>>(keys, 5);
  }
}

// What has no element, or few, takes little, wherever the others are.
TEST(radix_map, gives_back_what_it_does_not_need) {
  constexpr std::size_t size = 6400;
  for (const std::uint64_t spread : {UINT64_C(1), UINT64_C(97), UINT64_C(1) << 50U}) {
    for (const std::size_t kept_from : {std::size_t{0}, size / 2, size - 64}) {
      for (const auto& in_order : orders) {
        radix_map<std::uint64_t, int> map;
        auto handle = map.attach();
        for (std::size_t i = 0; i < size; ++i) handle.insert(i * spread, 1);
        for (const std::size_t i : in_order(size)) {
          if (i < kept_from || i >= kept_from + 64) {
            EXPECT_TRUE(handle.erase(i * spread));
          }
        }
        EXPECT_LE(*map.shape().nodes, 12U) << spread << " " << kept_from;
        EXPECT_EQ(map.broken_invariant(), std::nullopt);
      }
    }
  }
}

// A leaf that becomes empty before or after an inner node.
TEST(radix_map, gives_the_range_of_an_empty_leaf_to_one_below_its_sibling) {
  constexpr std::uint64_t far = UINT64_C(1) << 40U;
  for (const bool is_before : {true, false}) {
    modelled<std::uint64_t, radix_policies<std::uint64_t>> both;
    const std::uint64_t few = is_before ? 5 : 2 * far;
    for (std::uint64_t i = 0; i < 3; ++i) both.model.emplace(few + 1000 * i, 1);
    for (std::uint64_t i = 0; i < 100; ++i) both.model.emplace(far + 1000 * i, 1);
    both.map.load_sorted(both.model.begin(), both.model.end());
    const std::uint64_t nodes = *both.map.shape().nodes;
    for (std::uint64_t i = 0; i < 3; ++i) both.erase(few + 1000 * i);
    EXPECT_EQ(both.map.shape().nodes, nodes - 2);  // the leaf, and the node above both
    both.expect_same_walks();
    both.expect_same_around(few);
    for (std::uint64_t i = 0; i < 50; ++i) both.insert(few + i);
    both.expect_same_walks();
    both.expect_same_around(few);
  }
}

TEST(radix_map, has_one_leaf_for_few_keys) {
  radix_map<std::uint64_t, int> map;
  auto handle = map.attach();
  for (std::uint64_t key = 0; key < 64; ++key) handle.insert(key, 1);
  for (std::uint64_t key = 5; key < 64; ++key) handle.erase(key);
  EXPECT_TRUE(handle.insert(1'000'000, 1));
  EXPECT_EQ(map.shape().nodes, 1U);
}

TEST(radix_map, does_not_split_and_join_in_turns) {
  radix_map<std::uint64_t, int> map;
  auto handle = map.attach();
  for (std::uint64_t key = 0; key < 64; ++key) handle.insert(key, 1);  // in a direct leaf
  for (std::uint64_t key = 20; key < 64; ++key) handle.erase(key);
  const auto come_and_go = [&] {
    EXPECT_TRUE(handle.insert(1'000'000, 1));
    EXPECT_TRUE(handle.erase(1'000'000));
  };
  come_and_go();
  const std::uint64_t retired = map.unfreed();
  for (int i = 0; i < 10; ++i) come_and_go();
  EXPECT_EQ(map.unfreed(), retired);

  radix_map<std::uint64_t, int> many;
  auto of_many = many.attach();
  for (std::uint64_t key = 0; key < 256; ++key) of_many.insert(key, 1);  // in several of them
  std::uint64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(of_many.insert(1'000'000, 1));
    EXPECT_TRUE(of_many.erase(1'000'000));
    if (i == 0) before = many.unfreed();
  }
  EXPECT_LE(many.unfreed(), before);
}

// As a reader meets a node that is being changed: the child that was before this one, or after it,
// is gone.
TEST(nodes_of_radix_map, have_no_places_beyond_their_ends) {
  using nodes = radix::nodes<std::uint64_t, int, radix_policies<std::uint64_t>>;
  nodes::middle node{{}};
  node.append(0, 64);
  EXPECT_EQ(node.size(), 1U);
  EXPECT_LT(node.before(7), nodes::middle::places);
  EXPECT_LT(node.after(7), nodes::middle::places);
  EXPECT_EQ(nodes::narrow::before(0), 0U);
}

// --- pairs and tuples ---------------------------------------------------------------------------

TEST(radix_map, takes_tuples_of_signed_and_padded_numbers) {
  using key = std::tuple<std::int8_t, bool, std::int64_t, std::uint16_t>;
  std::vector<key> keys;
  for (const int first : {-128, -127, -1, 0, 1, 127}) {
    for (const bool second : {false, true}) {
      for (const std::int64_t third : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
                                       std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
        for (const int fourth : {0, 1, 255, 256, 65535})
          keys.emplace_back(first, second, third, fourth);
      }
    }
  }
  expect_is_a_map(keys);
}

// --- byte strings -------------------------------------------------------------------------------

// With bytes that are zero or have their highest bit, and the empty one.
TEST(radix_map, takes_all_short_strings_of_few_bytes) {
  std::vector<std::string> keys{""};
  for (std::size_t shorter = 0; keys.size() < 600; ++shorter) {
    for (const char last : {'\0', '\x7f', '\x80', '\xff'}) keys.push_back(keys[shorter] + last);
  }
  expect_is_a_map(keys);
}

TEST(radix_map, takes_all_strings_of_two_bytes) {
  const auto key = [](std::size_t i) {
    return std::string{static_cast<char>(static_cast<unsigned char>(i >> 8U)),
                       static_cast<char>(static_cast<unsigned char>(i & 255U))};
  };
  modelled<std::string> both;
  for (const std::size_t i : bits_reversed(1U << 16U)) both.insert(key(i));
  both.expect_same_walks();
  for (std::size_t i = 0; i < 1U << 16U; i += 997) both.expect_same_around(key(i));
  for (const std::size_t i : from_both_ends(1U << 16U)) both.erase(key(i));
  EXPECT_EQ(both.map.shape().nodes, 1U);
}

TEST(radix_map, takes_strings_each_of_which_begins_the_next) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 200; ++i) keys.emplace_back(i, 'x');
  expect_is_a_map(keys);
  // And others that part from them at each byte, on both sides.
  for (std::size_t i = 0; i < 200; i += 3) {
    keys.push_back(std::string(i, 'x') + 'w');
    keys.push_back(std::string(i, 'x') + "yy");
  }
  expect_is_a_map(keys);
}

// One node below the other, each with a leaf beside the next one.
TEST(radix_map, keeps_no_empty_leaf_of_strings_each_of_which_begins_the_next) {
  constexpr std::size_t size = 200;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < size; ++i) keys.emplace_back(i, 'x');
  const auto loaded = [&](modelled<std::string>& both) {
    for (const std::string& key : keys) both.model.emplace(key, 1);
    both.map.load_sorted(both.model.begin(), both.model.end());
    EXPECT_GT(*both.map.shape().max_depth, 190U);
  };
  for (const auto& in_order : orders) {
    modelled<std::string> both;
    loaded(both);
    std::size_t erased = 0;
    for (const std::size_t i : in_order(size)) {
      both.erase(keys[i]);
      // A leaf has at least one, except the last one.
      ASSERT_LE(*both.map.shape().nodes, 2 * std::max<std::size_t>(size - ++erased, 1));
    }
    both.expect_same_walks();
  }
  modelled<std::string> both;
  loaded(both);
  EXPECT_EQ(both.handle.erase_range(keys.front(), keys.back()), size);
  EXPECT_EQ(both.map.shape().nodes, 1U);
}

TEST(radix_map, takes_strings_of_64_kibibytes) {
  const std::string longest(65536, 'p');
  std::vector<std::string> keys{longest, longest.substr(1)};
  for (std::size_t i = 0; i < 30; ++i) {
    keys.push_back(longest.substr(0, 65500 + i));
    keys.push_back(longest.substr(0, 65530) + static_cast<char>('a' + i));
    keys.push_back(longest.substr(0, 2000 * i) + 'q');
  }
  std::ranges::sort(keys);
  expect_is_a_map<small<std::string>>(keys, 4);
}

// Keys each of which begins the next, and keys of 64 KiB that part at their ends: nodes one below
// the other are replaced while others pass them.
TEST(radix_map, adds_up_among_threads_that_change_long_ways) {
  using map_type = radix_map<std::string, int, small<std::string>>;
  const std::string longest(65536, 'x');
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 100; ++i) keys.push_back(longest.substr(0, i));
  for (std::size_t i = 0; i < 10; ++i) {
    keys.push_back(longest + static_cast<char>('a' + i));
    keys.push_back(longest.substr(i) + 'y');
  }
  map_type map;
  std::vector<std::atomic<int>> net(keys.size());  // insertions less erasures
  std::vector<std::jthread> threads;
  for (unsigned self = 0; self < 4; ++self) {
    threads.emplace_back([&, self] {
      std::mt19937_64 draw(self);
      auto handle = map.attach();
      for (int i = 0; i < 4000; ++i) {
        const std::size_t key = draw() % keys.size();
        const bool grows = i / 500 % 2 == 0;
        if (draw() % 4 < (grows ? 3U : 1U)) {
          if (handle.insert(keys[key], 1)) ++net[key];
        } else {
          if (handle.erase(keys[key])) --net[key];
        }
        if (i % 64 == 0) {
          std::string last;
          handle.iterate([&](const std::string& met, int) {
            EXPECT_TRUE(last.empty() || last < met);
            last = met;
          });
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
  auto handle = map.attach();
  std::uint64_t size = 0;
  for (std::size_t key = 0; key < keys.size(); ++key) {
    EXPECT_EQ(handle.contains(keys[key]), net[key] == 1) << key;
    size += static_cast<std::uint64_t>(net[key]);
  }
  EXPECT_EQ(handle.erase_range(std::string(), std::string("z")), size);
  EXPECT_EQ(map.shape().nodes, 1U);
}

// As deep as no recursion gets on such a stack.
TEST(radix_map, needs_a_small_stack) {
  using map_type = radix_map<std::string, int, small<std::string>>;
  std::vector<std::pair<std::string, int>> sorted;
  for (std::size_t i = 0; i < 3000; ++i) sorted.emplace_back(std::string(i, 'x'), 1);
  std::function<void()> work = [&] {
    map_type map;
    map.load_sorted(sorted.begin(), sorted.end());
    EXPECT_GT(*map.shape().max_depth, 2900U);
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
    std::size_t met = 0;
    map.for_each([&](const std::string& key, int) { EXPECT_EQ(key.size(), met++); });
    EXPECT_EQ(met, sorted.size());
    auto handle = map.attach();
    EXPECT_EQ(handle.size(), sorted.size());
    // The second one is above all others, and parts from them where the way begins.
    for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(handle.insert(std::string(3000 + i, 'x'), 1));
    for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(handle.insert("y" + std::to_string(i), 1));
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
    EXPECT_EQ(handle.clone()->attach().size(), sorted.size() + 20);
    map.clear();
    map.load_sorted(sorted.begin(), sorted.end());
  };
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024), 0);
  pthread_t thread{};
  const auto run = [](void* of) -> void* {
    (*static_cast<std::function<void()>*>(of))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace
}  // namespace assay
