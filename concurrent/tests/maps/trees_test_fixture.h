// What the tests of the search trees share: each tree with each policy, and what is asked of all.

#ifndef TESTS_MAPS_TREES_TEST_FIXTURE_H_
#define TESTS_MAPS_TREES_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
#include "assay/reclaim/none.h"
#include "tests/maps/trees_test_types.h"

namespace assay::trees_test {

// Under assay-rtm, where a transaction takes 100 us.
// NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets variables
inline const bool is_emulated = std::getenv("ASSAY_RTM_SETTINGS") != nullptr;
inline const int slowdown = is_emulated                                         ? 20
                            : ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER ? 8
                                                                                : 1;

struct lock_free {
  template <class K, class V, class Reclaim, class Compare = std::less<K>>
  using map = natarajan_mittal_bst<K, V, Reclaim, Compare>;
};
struct ticket {
  template <class K, class V, class Reclaim, class Compare = std::less<K>>
  using map = ticket_bst<K, V, Reclaim, Compare>;
};

template <class Algorithm, class Key, class Policy>
struct variant {
  using algorithm = Algorithm;
  using K = Key;
  static constexpr bool is_moody = std::is_same_v<Key, moody>;
  // Values of another type than keys, but as moody where keys are.
  using V = std::conditional_t<is_moody, moody, std::uint64_t>;
  using Reclaim = Policy;
  using map =
      typename Algorithm::template map<K, V, Reclaim,
                                       std::conditional_t<is_moody, moody_less, std::less<K>>>;
  static constexpr bool never_frees = std::is_same_v<Policy, reclaim::none>;
};

// Runs `work(thread number)` in this many threads at once.
template <class Work>
void in_threads(unsigned number, const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(number);
  for (unsigned i = 0; i < number; ++i) threads.emplace_back([&work, i] { work(i); });
}

template <class Variant>
class fixture : public ::testing::Test {
 protected:
  using map_type = typename Variant::map;
  using model_type = std::map<std::uint64_t, std::uint64_t>;

  static model_type contents(const map_type& map) {
    model_type found;
    std::optional<std::uint64_t> last;
    map.for_each([&](const typename Variant::K& key, const typename Variant::V& value) {
      const auto number = number_of(key);
      EXPECT_TRUE(!last || *last < number) << *last << " before " << number;
      last = number;
      found.emplace(number, number_of(value));
    });
    return found;
  }
  static void expect_sound(const map_type& map, const model_type& model) {
    EXPECT_EQ(contents(map), model);
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  static bool insert(typename map_type::handle& handle, std::uint64_t key, std::uint64_t value) {
    return handle.insert(made_of<typename Variant::K>(key), made_of<typename Variant::V>(value));
  }

  void SetUp() override { alive_ = moody::alive; }
  void TearDown() override {
    if (!Variant::never_frees) {
      EXPECT_EQ(moody::alive, alive_);
    }
  }

 private:
  std::int64_t alive_ = 0;
};

}  // namespace assay::trees_test

#endif  // TESTS_MAPS_TREES_TEST_FIXTURE_H_
