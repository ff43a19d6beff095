#include "assay/locks/optimistic_section.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/locks/spin_lock.h"

namespace assay::sync {
namespace {

template <class Lock>
class section : public testing::Test {
 protected:
  optimistic_section<Lock> lock_;
};
using locks = testing::Types<std::mutex, std::shared_mutex, spin_lock>;
TYPED_TEST_SUITE(section, locks);

TYPED_TEST(section, returns_what_is_read) {
  const section_word<int> word{3};
  EXPECT_EQ(this->lock_.read([&] { return word.read(); }), 3);
  int seen = 0;
  this->lock_.read([&] { seen = word.read(); });
  EXPECT_EQ(seen, 3);
  static_assert(std::is_void_v<decltype(this->lock_.read([] {}))>);
}

TYPED_TEST(section, changes_what_is_written) {
  section_word<int> word{3};
  EXPECT_TRUE(this->lock_.write([&](auto& change) {
    change.begin();
    change.begin();
    word.write(4);
    return true;
  }));
  this->lock_.write([&] { word.write(word.read() + 1); });
  EXPECT_EQ(this->lock_.read([&] { return word.read(); }), 5);
}

TYPED_TEST(section, is_left_by_exceptions) {
  section_word<int> word{3};
  EXPECT_THROW(this->lock_.read([]() -> int { throw std::runtime_error("read"); }),
               std::runtime_error);
  EXPECT_THROW(this->lock_.write([&] {
    word.write(4);
    throw std::runtime_error("written");
  }),
               std::runtime_error);
  EXPECT_EQ(this->lock_.read([&] { return word.read(); }), 4);
  this->lock_.write([&] { word.write(5); });
  EXPECT_EQ(this->lock_.read([&] { return word.read(); }), 5);
}

// A reader that a writer disturbs in each attempt takes the lock in the end, and is alone then.
TYPED_TEST(section, ends_though_it_is_disturbed_each_time) {
  section_word<int> word{0};
  std::atomic<int> tries{0};
  const int seen = this->lock_.read([&] {
    const int first = word.read();
    if (++tries <= 8) {
      std::jthread([&] { this->lock_.write([&] { word.write(word.read() + 1); }); }).join();
    }
    return word.read() + first;
  });
  EXPECT_EQ(seen, 16);
  EXPECT_EQ(tries, 9);
}

// What a doomed reader throws is nobody's business.
TYPED_TEST(section, forgets_what_was_thrown_on_a_state_that_never_was) {
  section_word<int> low{0};
  section_word<int> high{0};
  bool disturbed = false;
  const int seen = this->lock_.read([&] {
    const int before = low.read();
    if (!std::exchange(disturbed, true)) {
      std::jthread([&] {
        this->lock_.write([&] {
          low.write(1);
          high.write(1);
        });
      }).join();
    }
    if (high.read() != before) throw std::logic_error("torn");
    return before;
  });
  EXPECT_EQ(seen, 1);
}

TYPED_TEST(section, is_not_disturbed_by_who_changes_nothing) {
  int tries = 0;
  this->lock_.read([&] {
    if (++tries == 1) std::jthread([&] { this->lock_.write([](auto& /*change*/) {}); }).join();
  });
  EXPECT_EQ(tries, 1);
}

TYPED_TEST(section, is_read_through_a_constant_one) {
  const section_word<int> word{3};
  const auto& constant = std::as_const(this->lock_);
  EXPECT_EQ(constant.read([&] { return word.read(); }), 3);
}

TYPED_TEST(section, is_written_by_who_tries_if_nobody_has_it) {
  section_word<int> word{3};
  EXPECT_TRUE(this->lock_.try_write([&] { word.write(4); }));
  EXPECT_EQ(this->lock_.try_write([&] { return word.read(); }), 4);
  EXPECT_TRUE(this->lock_.try_write([](auto& /*change*/) {}));
  EXPECT_THROW(
      static_cast<void>(this->lock_.try_write([] { throw std::runtime_error("written"); })),
      std::runtime_error);
  bool called = false;
  this->lock_.write([&] {
    std::jthread([&] {
      EXPECT_FALSE(this->lock_.try_write([&] { called = true; }));
      EXPECT_EQ(this->lock_.try_write([&] { return called = true; }), std::nullopt);
    }).join();
  });
  EXPECT_FALSE(called);
  EXPECT_TRUE(this->lock_.try_write([&] { called = true; }));
  EXPECT_TRUE(called);
}

TEST(section, is_written_by_who_waits_for_a_limited_time) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  optimistic_section<std::timed_mutex> section;
  section_word<int> word{3};
  EXPECT_TRUE(section.try_write_for(milliseconds(1), [&] { word.write(4); }));
  EXPECT_EQ(section.try_write_until(steady_clock::now(), [&] { return word.read(); }), 4);
  section.write([&] {
    std::jthread([&] {
      const auto end = steady_clock::now() + milliseconds(5);
      EXPECT_FALSE(section.try_write_until(end, [&](auto& /*change*/) {}));
      EXPECT_GE(steady_clock::now(), end);
      EXPECT_EQ(section.try_write_for(milliseconds(1), [] { return 1; }), std::nullopt);
    }).join();
  });
  EXPECT_TRUE(section.try_write_for(milliseconds(1), [](auto& /*change*/) {}));
}

// Those who try lose no change of those who wait.
TYPED_TEST(section, loses_no_change_of_who_tries) {
  constexpr int changes = 2'000;
  section_word<int> word{0};
  const auto change = [&] { word.write(word.read() + 1); };
  {
    const std::jthread tries([&] {
      for (int done = 0; done < changes;) done += this->lock_.try_write(change) ? 1 : 0;
    });
    for (int done = 0; done < changes; ++done) this->lock_.write(change);
  }
  EXPECT_EQ(word.read(), 2 * changes);
}

// Counts how it is taken.
struct counting_lock {
  void lock() { ++locked; }
  bool try_lock() { return ++tried > refuses; }
  void unlock() {}

  static inline int refuses = 0;
  static inline int tried = 0;
  static inline int locked = 0;
};

TEST(section, tries_for_a_while_before_it_waits_for_the_lock) {
  optimistic_section<counting_lock> section;
  const auto attempts = [&](int refuses) {
    counting_lock::refuses = refuses;
    counting_lock::tried = counting_lock::locked = 0;
    section.write([] {});
    return std::pair(counting_lock::tried, counting_lock::locked);
  };
  EXPECT_EQ(attempts(0), std::pair(1, 0));
  EXPECT_EQ(attempts(2), std::pair(3, 0));
  EXPECT_EQ(attempts(1000), std::pair(6, 1));
}

// More threads than processors; every state that a reader meets is one that was.
TYPED_TEST(section, shows_readers_one_state) {
  constexpr std::uint64_t changes = 3'000;
  constexpr unsigned writers = 3;
  std::array<section_word<std::uint64_t>, 8> words{};
  std::atomic<unsigned> writing{writers};
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> older{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < writers; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t change = 0; change < changes; ++change) {
          this->lock_.write([&](auto& begun) {
            const std::uint64_t next = words[0].read() + 1;
            begun.begin();
            for (auto& word : words) word.write(next);
          });
        }
        --writing;
      });
    }
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        std::uint64_t last = 0;
        while (writing != 0) {
          const auto seen = this->lock_.read([&] {
            std::array<std::uint64_t, words.size()> found{};
            for (std::size_t word = 0; word < words.size(); ++word)
              found[word] = words[word].read();
            return found;
          });
          for (const std::uint64_t word : seen) torn += word != seen[0] ? 1U : 0U;
          older += seen[0] < last ? 1U : 0U;
          last = seen[0];
        }
      });
    }
  }
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(older, 0U);
  EXPECT_EQ(words[0].read(), writers * changes);
}

// What a pointer leads to was made before the pointer was written, also for a doomed reader.
TYPED_TEST(section, publishes_what_pointers_lead_to) {
  std::vector<std::array<int, 4>> made(1'000, std::array<int, 4>{});
  section_word<std::array<int, 4>*> now{made.data()};
  std::atomic<bool> done{false};
  const std::jthread reader([&] {
    while (!done) {
      this->lock_.read([&] {
        const auto& seen = *now.read();
        return seen[0] + seen[3];
      });
    }
  });
  for (auto& each : made) {
    if (&each == made.data()) continue;
    each = {1, 2, 3, 4};  // not atomic: nobody has its address
    this->lock_.write([&] { now.write(&each); });
  }
  done = true;
}

}  // namespace
}  // namespace assay::sync
