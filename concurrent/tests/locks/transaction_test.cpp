#include "assay/locks/transaction.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::sync::transaction {
namespace {

using std::string_view_literals::operator""sv;

// Until it commits. Where there are none, it would never.
template <class F>
void atomically(const F& f) {
  while (!begin().begun()) {
  }
  f();
  commit();
}

class transactions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!available()) {
      GTEST_SKIP() << "no transactions here; run it as: assay-rtm transaction_test";
    }
  }
};

TEST(no_transactions, are_said_not_to_be_here) {
  if (available()) GTEST_SKIP() << "this machine has transactions";
  const status found = begin();
  EXPECT_FALSE(found.begun());
  EXPECT_FALSE(found.may_succeed_again());
  EXPECT_EQ(found.cause(), cause::unavailable);
  EXPECT_FALSE(inside());
  abort<1>();  // nothing
}

TEST_F(transactions, lose_no_increment) {
  constexpr std::uint64_t rounds = 300;
  std::uint64_t counter = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t n = 0; n < rounds; ++n) atomically([&] { ++counter; });
      });
    }
  }
  EXPECT_EQ(counter, 4 * rounds);
}

TEST_F(transactions, undo_all_when_they_are_aborted_and_tell_the_code) {
  std::uint64_t word = 1;
  for (;;) {
    const status found = begin();
    if (found.begun()) {
      word = 2;
      if (!inside()) abort<41>();
      abort<42>();
    } else if (found.cause() == cause::asked) {
      EXPECT_EQ(found.code(), 42U);
      EXPECT_FALSE(found.was_nested());
      break;
    }
  }
  EXPECT_EQ(word, 1U);
  EXPECT_FALSE(inside());
}

TEST_F(transactions, are_one_with_those_that_they_are_inside_of) {
  std::uint64_t word = 0;
  atomically([&] {
    if (begin().begun()) {
      ++word;
      commit();
    }
    if (inside()) ++word;
  });
  EXPECT_EQ(word, 2U);
  for (;;) {
    const status found = begin();
    if (found.begun()) {
      static_cast<void>(begin());
      word = 9;
      abort<1>();
    } else if (found.cause() == cause::asked) {
      EXPECT_TRUE(found.was_nested());
      break;
    }
  }
  EXPECT_EQ(word, 2U);
}

TEST_F(transactions, that_are_too_large_say_so) {
  std::vector<std::uint64_t> words(std::size_t{1} << 20U);
  for (;;) {
    const status found = begin();
    if (found.begun()) {
      for (std::uint64_t& each : words) each = 1;
      commit();
      FAIL();
    }
    if (found.cause() == cause::capacity) break;
  }
  EXPECT_EQ(words[0], 0U);
}

// --- what others see in which order -------------------------------------------------------------

// Many places where threads meet, which they pass side by side: each a word on a line of its own.
struct alignas(64) word {
  std::atomic<unsigned> value{0};

  void write() { value.store(1, std::memory_order_relaxed); }
  [[nodiscard]] unsigned read() const { return value.load(std::memory_order_relaxed); }
};
using words = std::vector<word>;
using outcomes = std::vector<unsigned>;
constexpr std::size_t places = 400;

void full_fence() {
  atomically([] {});
}

// Calls f(place) for each place, for each f in a thread of its own.
template <class... F>
void side_by_side(const F&... f) {
  std::atomic<std::size_t> missing{sizeof...(f)};
  std::vector<std::jthread> threads;
  const auto start = [&](const auto& each) {
    threads.emplace_back([&missing, &each] {
      for (--missing; missing != 0;) std::this_thread::yield();
      for (std::size_t place = 0; place < places; ++place) each(place);
    });
  };
  (start(f), ...);
}

TEST_F(transactions, let_no_read_pass_a_write_before_them) {
  words a(places);
  words b(places);
  outcomes seen_b(places);
  outcomes seen_a(places);
  side_by_side(
      [&](std::size_t i) {
        a[i].write();
        full_fence();
        seen_b[i] = b[i].read();
      },
      [&](std::size_t i) {
        b[i].write();
        full_fence();
        seen_a[i] = a[i].read();
      });
  for (std::size_t i = 0; i < places; ++i) EXPECT_NE(seen_a[i] + seen_b[i], 0U) << i;
}

TEST_F(transactions, publish_what_was_written_before_them) {
  words message(places);
  words flag(places);
  outcomes seen_flag(places);
  outcomes seen_message(places);
  side_by_side(
      [&](std::size_t i) {
        message[i].write();
        atomically([&] { flag[i].write(); });
      },
      [&](std::size_t i) {
        atomically([&] { seen_flag[i] = flag[i].read(); });
        seen_message[i] = message[i].read();
      });
  for (std::size_t i = 0; i < places; ++i) EXPECT_GE(seen_message[i], seen_flag[i]) << i;
}

// Two readers that see the writes of two transactions in two orders.
TEST_F(transactions, are_seen_in_one_order_by_all) {
  words a(places);
  words b(places);
  outcomes first_a(places);
  outcomes then_b(places);
  outcomes first_b(places);
  outcomes then_a(places);
  side_by_side([&](std::size_t i) { atomically([&] { a[i].write(); }); },
               [&](std::size_t i) { atomically([&] { b[i].write(); }); },
               [&](std::size_t i) {
                 first_a[i] = a[i].read();
                 full_fence();
                 then_b[i] = b[i].read();
               },
               [&](std::size_t i) {
                 first_b[i] = b[i].read();
                 full_fence();
                 then_a[i] = a[i].read();
               });
  for (std::size_t i = 0; i < places; ++i) {
    EXPECT_FALSE(first_a[i] == 1 && then_b[i] == 0 && first_b[i] == 1 && then_a[i] == 0) << i;
  }
}

// In a process of its own, which has not asked yet, unless ASSAY_TRANSACTIONS has.
TEST(transactions_death, are_turned_off_before_they_are_used) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const bool off = turn_off("a test turns them off");
        const bool right = off ? !available() && !begin().begun() && backend_name() == "none"sv &&
                                     why_none() == "a test turns them off"sv
                               : available() && why_none() == ""sv;
        std::_Exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
      },
      ::testing::ExitedWithCode(EXIT_SUCCESS), "");
}

TEST(transactions_in_use, are_not_turned_off) {
  const bool here = available();
  EXPECT_EQ(turn_off("too late"), !here);
  EXPECT_EQ(available(), here);
  EXPECT_EQ(backend_name(), here ? "rtm"sv : "none"sv);
}

TEST(transaction_status, says_what_ended_it) {
  EXPECT_TRUE(status(status::all_begun).begun());
  EXPECT_EQ(status(status::bit_conflict | status::bit_again).cause(), cause::conflict);
  EXPECT_TRUE(status(status::bit_conflict | status::bit_again).may_succeed_again());
  EXPECT_EQ(status(status::bit_nested | status::bit_capacity).cause(), cause::capacity);
  EXPECT_EQ(status(status::bit_nested).cause(), cause::nested);
  EXPECT_EQ(status(status::bit_debug).cause(), cause::debug);
  EXPECT_EQ(status(0).cause(), cause::other);
  EXPECT_EQ(status(status::bit_asked | 7U << status::code_shift).code(), 7U);
}

}  // namespace
}  // namespace assay::sync::transaction
