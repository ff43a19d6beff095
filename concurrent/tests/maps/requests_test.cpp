// assay::requests: requests that are carried out together.

#include "assay/maps/requests.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/maps/radix_map.h"

namespace {

using namespace assay;

template <class Map>
class requests_to : public testing::Test {};
using maps = testing::Types<bt_map<std::string, std::string>, radix_map<std::string, std::string>>;
TYPED_TEST_SUITE(requests_to, maps);

// Each key has one request at a time, so that a model can say what it answers.
TYPED_TEST(requests_to, answer_as_the_calls_do) {
  TypeParam map;
  auto handle = map.attach();
  requests waiting(handle);
  std::map<std::string, std::string> model;
  std::mt19937_64 draw(1);
  for (const std::size_t number : {0U, 1U, 63U, 64U, 65U, 500U}) {
    std::size_t answered = 0;
    for (std::size_t i = 0; i < number; ++i) {
      const std::string key = std::to_string(i);
      const auto held = model.find(key);
      const bool was_there = held != model.end();
      switch (draw() % 3) {
        case 0: {
          const auto expected = was_there ? std::optional(held->second) : std::nullopt;
          waiting.find(key, [expected, &answered](const std::optional<std::string>& value) {
            EXPECT_EQ(value, expected);
            ++answered;
          });
          break;
        }
        case 1:
          model.emplace(key, std::to_string(number));
          waiting.insert(key, std::to_string(number), [was_there, &answered](bool is_added) {
            EXPECT_NE(is_added, was_there);
            ++answered;
          });
          break;
        default:
          model.erase(key);
          waiting.erase(key, [was_there, &answered](bool is_erased) {
            EXPECT_EQ(is_erased, was_there);
            ++answered;
          });
      }
    }
    EXPECT_EQ(waiting.waiting(), number);
    EXPECT_EQ(answered, 0U);
    waiting.carry_out();
    EXPECT_EQ(answered, number);
    EXPECT_EQ(waiting.waiting(), 0U);
    EXPECT_EQ(map.size(), model.size());
  }
}

TYPED_TEST(requests_to, may_add_others) {
  TypeParam map;
  auto handle = map.attach();
  requests waiting(handle);
  int links = 0;
  std::function<void(bool)> next = [&](bool is_added) {
    EXPECT_TRUE(is_added);
    if (++links < 200) waiting.insert(std::to_string(links), "", next);
  };
  waiting.insert("0", "", next);
  waiting.carry_out();
  EXPECT_EQ(links, 200);
  EXPECT_EQ(map.size(), 200U);
}

TYPED_TEST(requests_to, need_no_function) {
  TypeParam map;
  auto handle = map.attach();
  requests waiting(handle);
  int answered = 0;
  waiting.insert("1", "", nullptr);
  waiting.insert("2", "", [&](bool is_added) { answered += is_added ? 1 : 0; });
  waiting.find("1", nullptr);
  waiting.erase("3", {});
  waiting.carry_out();
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(map.size(), 2U);
}

TYPED_TEST(requests_to, wait_on_when_a_function_throws) {
  TypeParam map;
  auto handle = map.attach();
  requests waiting(handle);
  std::size_t answered = 0;
  for (int i = 0; i < 200; ++i) {
    waiting.insert(std::to_string(i), "", [&answered](bool) {
      if (answered == 10) throw std::runtime_error("once");
      ++answered;
    });
  }
  EXPECT_THROW(waiting.carry_out(), std::runtime_error);
  EXPECT_EQ(waiting.waiting(), 200U - 64U);
  answered = 100;
  waiting.carry_out();
  EXPECT_EQ(waiting.waiting(), 0U);
  EXPECT_EQ(map.size(), 200U);  // those of the function that threw had been carried out
}

// A std::vector<bool> is not an array of them.
TEST(requests_of_bool, are_carried_out) {
  radix_map<bool, bool> map;
  auto handle = map.attach();
  requests waiting(handle);
  int answered = 0;
  waiting.insert(false, true, [&](bool is_added) { answered += is_added ? 1 : 0; });
  waiting.insert(true, false, [&](bool is_added) { answered += is_added ? 1 : 0; });
  waiting.carry_out();
  for (const bool key : {false, true}) {
    waiting.find(key, [&, key](std::optional<bool> value) { answered += value == !key ? 1 : 0; });
  }
  waiting.carry_out();
  waiting.erase(true, [&](bool is_erased) { answered += is_erased ? 1 : 0; });
  waiting.carry_out();
  EXPECT_EQ(answered, 5);
  EXPECT_EQ(map.size(), 1U);
}

// A number whose moves throw when they are told to.
struct stubborn {
  explicit stubborn(int number_) : number(number_) {}
  stubborn(const stubborn& other) : number(other.number) { move(); }
  stubborn(stubborn&& other) : number(other.number) { move(); }  // NOLINT(*-noexcept-move*)
  stubborn& operator=(const stubborn&) = delete;
  ~stubborn() = default;
  friend bool operator<(const stubborn& a, const stubborn& b) { return a.number < b.number; }

  static void move() {
    if (moves_left-- == 0) throw std::runtime_error("a move failed");
  }
  static inline int moves_left = -1;

  int number;
};

TEST(requests_whose_moves_throw, are_added_or_not) {
  bt_map<stubborn, stubborn> map;
  auto handle = map.attach();
  requests waiting(handle);
  std::size_t added = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 20; ++i) {
    for (int moves = 0;; ++moves) {
      stubborn key(i);
      stubborn value(i);
      EXPECT_EQ(waiting.waiting(), added);
      stubborn::moves_left = moves;
      try {
        waiting.insert(std::move(key), std::move(value), nullptr);
        break;
      } catch (const std::runtime_error&) {
        ++refused;  // with one move more, the next one may succeed
      }
    }
    stubborn::moves_left = -1;
    ++added;
  }
  EXPECT_GT(refused, 0U);
  waiting.carry_out();
  EXPECT_EQ(map.size(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(handle.find(stubborn(i))->number, i);
}

}  // namespace
