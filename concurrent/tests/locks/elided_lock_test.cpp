// Elided locks, and elided shared locks by both of their sides. Where there are transactions, or
// under assay-rtm, the same tests run in transactions, and those that need them run, too. Built
// once more with elision_test_tuning.h before it, for locks that fall dormant and open all the
// time.

#include "assay/locks/elided_lock.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/locks/elided_shared_lock.h"
#include "assay/locks/spin_lock.h"
#include "assay/locks/transaction.h"
#include "assay/probe/elided_locks.h"
#include "assay/probe/recording.h"

namespace assay::sync {
namespace {

bool eliding() { return transaction::available(); }

// What no transaction can do: whoever does it has the lock itself.
void leave_transactions() { static_cast<void>(::getppid()); }

template <class F>
void run_threads(unsigned count, const F& f) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(f, i);
}

// What the calling thread's sections came to, by the names of the probes.
template <class F>
std::map<std::string, std::uint64_t> counts_of(const F& f) {
  std::vector<probe::block> blocks;
  std::thread recorded([&] {
    probe::begin_recording();
    f();
    blocks.push_back(probe::end_recording());
  });
  recorded.join();
  std::map<std::string, std::uint64_t> counts;
  for (const probe::recorded& each : probe::report(blocks)) {
    if (each.name.starts_with("elision_")) counts[each.name.substr(8)] = each.count;
  }
  return counts;
}

template <class Lock>
class elided : public testing::Test {
 protected:
  Lock lock_;
};
template <class Lock = std::mutex>
using compact_lock = compact_elided_lock<Lock, probe::elision_observer>;
template <class Lock = std::shared_mutex>
using compact_shared_lock = compact_elided_shared_lock<Lock, probe::elision_observer>;

using locks = testing::Types<probe::elided_lock<>, probe::elided_lock<spin_lock>,
                             probe::elided_shared_lock<>, compact_lock<>, compact_shared_lock<>>;
TYPED_TEST_SUITE(elided, locks);

template <class Lock>
class elided_in_transactions : public elided<Lock> {
 protected:
  void SetUp() override {
    if (!eliding()) GTEST_SKIP() << "no transactions here; run it as: assay-rtm elided_lock_test";
  }
};
TYPED_TEST_SUITE(elided_in_transactions, locks);

#if !ASSAY_CHECKS && !defined(TESTS_LOCKS_ELISION_TEST_TUNING_H_) && defined(__x86_64__)
static_assert(sizeof(std::mutex) == 40 && sizeof(std::shared_mutex) == 56);
static_assert(sizeof(elided_lock<>) == 256 && sizeof(elided_shared_lock<>) == 320);
static_assert(sizeof(compact_elided_lock<>) == 64 && alignof(compact_elided_lock<>) == 64);
static_assert(sizeof(compact_elided_shared_lock<>) == 64);
#endif

// Made before any code runs.
constinit elided_lock<> of_static_storage;
constinit compact_elided_shared_lock<> compact_of_static_storage;

TEST(elided_unobserved, counts_nothing) {
  std::uint64_t word = 0;
  const auto counts = counts_of([&] {
    const std::scoped_lock held(of_static_storage, compact_of_static_storage);
    ++word;
  });
  EXPECT_EQ(word, 1U);
  EXPECT_EQ(counts.at("commits") + counts.at("fallbacks"), 0U);
}

// Words that threads change together, on pages of their own.
struct far_apart {
  alignas(4096) std::uint64_t low = 0;
  alignas(4096) std::uint64_t high = 0;
};

TYPED_TEST(elided, loses_no_increment) {
  for (const unsigned threads : {2U, 8U}) {
    const std::uint64_t rounds = 600 / threads;
    std::uint64_t counter = 0;
    run_threads(threads, [&](unsigned) {
      for (std::uint64_t n = 0; n < rounds; ++n) {
        const std::scoped_lock held(this->lock_);
        ++counter;
      }
    });
    EXPECT_EQ(counter, rounds * threads);
  }
}

TYPED_TEST(elided, keeps_who_tries_out_while_it_is_held) {
  const std::unique_lock held(this->lock_);
  leave_transactions();
  bool entered = true;
  std::jthread([&] { entered = this->lock_.try_lock(); }).join();
  EXPECT_FALSE(entered);
}

TYPED_TEST(elided, loses_no_increment_of_who_tries) {
  constexpr std::uint64_t rounds = 100;
  std::uint64_t counter = 0;
  run_threads(3, [&](unsigned) {
    for (std::uint64_t n = 0; n < rounds; ++n) {
      while (!this->lock_.try_lock()) std::this_thread::yield();
      ++counter;
      this->lock_.unlock();
    }
  });
  EXPECT_EQ(counter, 3 * rounds);
}

// Sections that are never elided beside sections that may be: neither meets half of another.
TYPED_TEST(elided, shows_whole_sections_to_holders_and_to_others) {
  constexpr unsigned rounds = 100;
  far_apart words;
  std::uint64_t torn = 0;
  run_threads(4, [&](unsigned i) {
    for (unsigned n = 0; n < rounds; ++n) {
      const std::scoped_lock held(this->lock_);
      if (i % 2 == 0) leave_transactions();
      const std::uint64_t low = words.low;
      if (i == 0) std::this_thread::yield();
      if (words.high != low) ++torn;
      words.low = low + 1;
      if (i == 2) std::this_thread::yield();
      words.high = low + 1;
    }
  });
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(words.low, 4 * rounds);
  EXPECT_EQ(words.high, 4 * rounds);
}

// What a section computes on values that never were together ends nothing but the transaction.
TYPED_TEST(elided, survives_what_doomed_sections_do) {
  constexpr unsigned rounds = 60;
  far_apart words;
  static volatile std::uint64_t one = 1;
  run_threads(3, [&](unsigned) {
    for (unsigned n = 0; n < rounds; ++n) {
      const std::scoped_lock held(this->lock_);
      const std::uint64_t low = *const_cast<volatile std::uint64_t*>(&words.low);
      std::uint64_t ahead = *const_cast<volatile std::uint64_t*>(&words.high) - low;
      if (ahead == 1) one = one / (ahead - 1);  // divides by zero
      // NOLINTNEXTLINE(bugprone-infinite-loop): such a section never ends, if not by an abort
      while (ahead != 0) asm volatile("" : "+r"(ahead));
      words.low = low + 1;
      words.high = low + 1;
    }
  });
  EXPECT_EQ(words.low, 3 * rounds);
}

std::atomic<unsigned> signals_handled{0};
std::atomic<bool> handled_inside{false};

// A handler runs beside no transaction: the processor ends one before it calls the handler.
TYPED_TEST(elided, is_not_disturbed_by_signals) {
  constexpr unsigned rounds = 200;
  signals_handled = 0;
  struct sigaction counting{};
  counting.sa_handler = [](int) {
    ++signals_handled;
    if (transaction::inside()) handled_inside = true;
  };
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, &counting, &before), 0);
  far_apart words;
  std::uint64_t sections = 0;
  std::atomic<bool> over{false};
  {
    std::jthread disturbed([&] {
      for (; sections < rounds || signals_handled < 20; ++sections) {
        const std::scoped_lock held(this->lock_);
        ++words.low;
        ++words.high;
      }
      over = true;
    });
    while (!over) {
      ::pthread_kill(disturbed.native_handle(), SIGUSR1);
      std::this_thread::yield();
    }
  }
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_EQ(words.low, sections);
  EXPECT_EQ(words.high, sections);
  EXPECT_FALSE(handled_inside);
}

TYPED_TEST(elided, is_left_by_exceptions) {
  std::uint64_t word = 0;
  EXPECT_THROW(
      {
        const std::scoped_lock held(this->lock_);
        word = 1;
        throw std::runtime_error("thrown");
      },
      std::runtime_error);
  EXPECT_EQ(word, 1U);
  EXPECT_TRUE(this->lock_.try_lock());
  this->lock_.unlock();
}

TYPED_TEST(elided, is_taken_with_others_in_any_order) {
  constexpr std::uint64_t rounds = 150;
  TypeParam other;
  far_apart words;
  run_threads(2, [&](unsigned i) {
    for (std::uint64_t n = 0; n < rounds; ++n) {
      if (i == 0) {
        const std::scoped_lock held(this->lock_, other);
        ++words.low, ++words.high;
      } else {
        const std::scoped_lock held(other, this->lock_);
        ++words.low, ++words.high;
      }
    }
  });
  EXPECT_EQ(words.low, 2 * rounds);
  EXPECT_EQ(words.high, 2 * rounds);
}

// As when a thread goes along a list: a lock is left before the one that was taken after it.
TYPED_TEST(elided, is_left_before_those_that_were_taken_later) {
  constexpr std::uint64_t rounds = 100;
  for (const bool first_is_held : {false, true}) {
    TypeParam other;
    far_apart words;
    run_threads(2, [&](unsigned) {
      for (std::uint64_t n = 0; n < rounds; ++n) {
        this->lock_.lock();
        if (first_is_held) leave_transactions();
        ++words.low;
        other.lock();
        this->lock_.unlock();
        ++words.high;
        other.unlock();
        ASSERT_FALSE(transaction::inside());
      }
    });
    EXPECT_EQ(words.low, 2 * rounds);
    EXPECT_EQ(words.high, 2 * rounds);
  }
}

TYPED_TEST(elided_in_transactions, commits_what_nobody_disturbs) {
  std::array<std::uint64_t, 4> words{};
  std::uint64_t in_transactions = 0;
  const auto counts = counts_of([&] {
    for (std::uint64_t n = 0; n < 100; ++n) {
      const std::scoped_lock held(this->lock_);
      ++words[n % 4];
      if (TypeParam::in_transaction()) ++in_transactions;
    }
  });
  EXPECT_EQ(words[3], 25U);
  EXPECT_EQ(counts.at("commits") + counts.at("fallbacks"), 100U);
  EXPECT_EQ(in_transactions, counts.at("commits"));
  EXPECT_FALSE(TypeParam::in_transaction());
  EXPECT_EQ(counts.at("attempts"), counts.at("commits") + counts.at("aborts_held") +
                                       counts.at("aborts_conflict") + counts.at("aborts_capacity") +
                                       counts.at("aborts_asked") + counts.at("aborts_other"));
  // Also where nine of ten transactions are made to abort.
  EXPECT_GT(counts.at("commits"), 10U);
  EXPECT_EQ(counts.at("aborts_held"), 0U);
}

TYPED_TEST(elided_in_transactions, takes_the_lock_for_what_no_transaction_can_do) {
  std::vector<std::uint64_t> words(std::size_t{1} << 18U);
  const auto counts = counts_of([&] {
    {
      const std::scoped_lock held(this->lock_);
      leave_transactions();
      EXPECT_FALSE(transaction::inside());
    }
    {
      const std::scoped_lock held(this->lock_);
      for (std::uint64_t& each : words) ++each;
    }
  });
  EXPECT_EQ(counts.at("fallbacks"), 2U);
  EXPECT_EQ(counts.at("commits"), 0U);
  for (const std::uint64_t each : words) ASSERT_EQ(each, 1U);
}

template <std::uint8_t code, class Lock>
void asks_with(Lock& lock, std::array<unsigned, 128>& ran) {
  const std::scoped_lock held(lock);
  ++ran[code];
  transaction::abort<code>();
}

TYPED_TEST(elided_in_transactions, takes_the_lock_for_who_asks_with_any_code) {
  std::array<unsigned, 128> ran{};
  const auto counts = counts_of([&] {
    [&]<std::uint8_t... code>(std::integer_sequence<std::uint8_t, code...>) {
      (asks_with<code>(this->lock_, ran), ...);
    }(std::make_integer_sequence<std::uint8_t, 128>());
  });
  for (const unsigned each : ran) EXPECT_EQ(each, 1U);
  EXPECT_EQ(counts.at("fallbacks"), 128U);
}

TYPED_TEST(elided_in_transactions, is_one_with_those_inside_of_it) {
  TypeParam inner;
  unsigned both = 0;
  const auto counts = counts_of([&] {
    for (unsigned n = 0; n < 50; ++n) {
      this->lock_.lock();
      const bool outer_elided = transaction::inside();
      inner.lock();
      both += outer_elided && transaction::inside() ? 1U : 0U;
      inner.unlock();
      // It has not committed yet.
      if (outer_elided != transaction::inside()) both = 10'000;
      this->lock_.unlock();
    }
  });
  EXPECT_GT(both, 0U);
  EXPECT_LE(both, 50U);
  EXPECT_FALSE(transaction::inside());
  EXPECT_GE(counts.at("commits"), both);
}

// More than the processor can have inside of each other.
TYPED_TEST(elided_in_transactions, may_be_inside_of_any_number) {
  std::array<TypeParam, 20> nested;
  std::uint64_t word = 0;
  for (TypeParam& each : nested) each.lock();
  ++word;
  for (TypeParam& each : nested) each.unlock();
  EXPECT_FALSE(transaction::inside());
  EXPECT_EQ(word, 1U);
}

// The outer one cannot wait in its transaction, and so is taken.
TYPED_TEST(elided_in_transactions, is_taken_where_one_inside_of_it_is_held) {
  TypeParam inner;
  std::atomic<bool> held{false};
  std::atomic<bool> entered{false};
  const std::jthread holder([&] {
    const std::scoped_lock here(inner);
    leave_transactions();
    held = true;
    while (!entered) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  {
    const std::scoped_lock outer(this->lock_);
    if (!transaction::inside()) entered = true;
    const std::scoped_lock within(inner);
  }
  EXPECT_TRUE(entered);
}

#ifdef TESTS_LOCKS_ELISION_TEST_TUNING_H_
template <class Lock>
class elided_and_dormant : public elided_in_transactions<Lock> {};
using learning_locks = testing::Types<probe::elided_lock<>, probe::elided_lock<spin_lock>,
                                      probe::elided_shared_lock<>>;
TYPED_TEST_SUITE(elided_and_dormant, learning_locks);

TYPED_TEST(elided_and_dormant, tries_none_until_a_section_has_ended_in_which_they_pay) {
  std::uint64_t word = 0;
  const auto enter = [&] {
    const std::scoped_lock held(this->lock_);
    ++word;
  };
  elision_tuning::steered = 0;
  enter();
  elision_tuning::steered = 3;
  EXPECT_EQ(counts_of(enter).at("attempts"), 0U);  // and opens it
  EXPECT_GT(counts_of(enter).at("attempts"), 0U);
  elision_tuning::steered.reset();
  EXPECT_EQ(word, 3U);
}

TYPED_TEST(elided_and_dormant, is_entered_inside_of_another_one_though_it_is_dormant) {
  TypeParam dormant;
  elision_tuning::steered = 0;
  {
    const std::scoped_lock held(dormant);
  }
  elision_tuning::steered = 3;
  this->lock_.lock();
  const bool entered = dormant.try_lock();
  if (entered) dormant.unlock();
  this->lock_.unlock();
  elision_tuning::steered.reset();
  EXPECT_TRUE(entered);
}

TEST(elided_shared_in_transactions, is_opened_by_readers_where_nobody_writes) {
  if (!eliding()) GTEST_SKIP() << "no transactions here; run it as: assay-rtm elided_lock_test";
  probe::elided_shared_lock<> lock;
  elision_tuning::steered = 0;
  {
    const std::scoped_lock writing(lock);
  }
  elision_tuning::steered = 3;
  const auto read = [&] { const std::shared_lock reading(lock); };
  EXPECT_EQ(counts_of(read).at("attempts"), 0U);
  EXPECT_GT(counts_of(read).at("attempts"), 0U);
  elision_tuning::steered.reset();
}
#endif

// What is arbitrary comes from its owner: the same again with the same seed, and different for each
// thread.
TEST(seeds_of_elision, are_repeated_by_the_number_that_they_are_drawn_from) {
  const auto draw = [](std::uint64_t seed) {
    seed_elision(seed);
    std::vector<std::uint64_t> drawn(100);
    for (std::uint64_t& each : drawn) each = detail::eliding_thread::next_seed();
    return drawn;
  };
  const std::vector<std::uint64_t> first = draw(7);
  EXPECT_EQ(first, draw(7));
  EXPECT_NE(first, draw(8000));
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size());
  EXPECT_EQ(std::count(first.begin(), first.end(), 0U), 0);
}

// --- the shared side ----------------------------------------------------------------------------

TEST(elided_shared, readers_share_it_and_keep_writers_out) {
  probe::elided_shared_lock<> lock;
  const std::shared_lock reading(lock);
  leave_transactions();
  bool another = false;
  bool writer = true;
  std::jthread([&] {
    another = lock.try_lock_shared();
    if (another) lock.unlock_shared();
    writer = lock.try_lock();
  }).join();
  EXPECT_TRUE(another);
  EXPECT_FALSE(writer);
}

TEST(elided_shared, a_writer_keeps_readers_out) {
  probe::elided_shared_lock<> lock;
  const std::scoped_lock writing(lock);
  leave_transactions();
  bool entered = true;
  std::jthread([&] { entered = lock.try_lock_shared(); }).join();
  EXPECT_FALSE(entered);
}

TEST(elided_shared, shows_readers_whole_sections) {
  constexpr unsigned rounds = 100;
  probe::elided_shared_lock<> lock;
  far_apart words;
  std::atomic<unsigned> torn{0};
  run_threads(6, [&](unsigned i) {
    for (unsigned n = 0; n < rounds; ++n) {
      if (i < 2) {  // writers, the second of which is never elided
        const std::scoped_lock writing(lock);
        if (i == 1) leave_transactions();
        const std::uint64_t next = words.low + 1;
        words.low = next;
        if (i == 1) std::this_thread::yield();
        words.high = next;
      } else {  // readers, half of which share the lock itself
        bool same = false;
        {
          const std::shared_lock reading(lock);
          if (i % 2 == 0) leave_transactions();
          const std::uint64_t low = words.low;
          if (i % 2 == 0) std::this_thread::yield();
          same = words.high == low;
        }
        torn += same ? 0U : 1U;
      }
    }
  });
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(words.low, 2 * rounds);
}

TEST(elided_shared, readers_are_elided) {
  if (!eliding()) GTEST_SKIP() << "no transactions here; run it as: assay-rtm elided_lock_test";
  probe::elided_shared_lock<> lock;
  const std::uint64_t word = 3;
  std::uint64_t sum = 0;
  const auto counts = counts_of([&] {
    for (unsigned n = 0; n < 50; ++n) {
      const std::shared_lock reading(lock);
      sum += word;
    }
  });
  EXPECT_EQ(sum, 150U);
  EXPECT_EQ(counts.at("commits") + counts.at("fallbacks"), 50U);
  EXPECT_GT(counts.at("commits"), 5U);
}

// --- those that wait for a limited time
// -----------------------------------------------------------

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::steady_clock;

// ThreadSanitizer of gcc 12 does not see that pthread_mutex_clocklock() takes the lock.
template <class Lock>
class elided_timed : public elided<Lock> {
 protected:
  void SetUp() override {
    if (ASSAY_THREAD_SANITIZER != 0) GTEST_SKIP() << "ThreadSanitizer would see no timed lock";
  }
};
using timed_locks =
    testing::Types<probe::elided_lock<std::timed_mutex>,
                   probe::elided_shared_lock<std::shared_timed_mutex>,
                   compact_lock<std::timed_mutex>, compact_shared_lock<std::shared_timed_mutex>>;
TYPED_TEST_SUITE(elided_timed, timed_locks);

template <class Lock>
concept timed =
    requires(Lock& lock) { lock.try_lock_for(hours(1)), lock.try_lock_until(steady_clock::now()); };
template <class Lock>
concept shared_timed = requires(Lock& lock) {
  lock.try_lock_shared_for(hours(1)), lock.try_lock_shared_until(steady_clock::now());
};
static_assert(timed<elided_lock<std::timed_mutex>> && !timed<elided_lock<>>);
static_assert(timed<elided_shared_lock<std::shared_timed_mutex>>);
static_assert(shared_timed<elided_shared_lock<std::shared_timed_mutex>>);
static_assert(!timed<elided_shared_lock<>> && !shared_timed<elided_shared_lock<>>);

TYPED_TEST(elided_timed, is_not_entered_while_it_is_held_when_time_is_over) {
  const std::unique_lock held(this->lock_);
  leave_transactions();
  std::jthread([&] {
    EXPECT_FALSE(this->lock_.try_lock_for(microseconds(1)));
    EXPECT_FALSE(this->lock_.try_lock_for(hours(-1)));
    EXPECT_FALSE(this->lock_.try_lock_until(steady_clock::now()));
    EXPECT_FALSE(this->lock_.try_lock_until(std::chrono::system_clock::now()));
  }).join();
}

TYPED_TEST(elided_timed, is_entered_at_once_if_it_is_free) {
  EXPECT_TRUE(this->lock_.try_lock_until(steady_clock::now() - hours(1)));
  this->lock_.unlock();
  EXPECT_TRUE(std::unique_lock(this->lock_, hours(1)).owns_lock());
  EXPECT_TRUE(std::unique_lock(this->lock_, steady_clock::now()).owns_lock());
}

TYPED_TEST(elided_timed, is_entered_when_its_holder_leaves_in_time) {
  bool entered = false;
  std::jthread waiting;
  {
    const std::scoped_lock held(this->lock_);
    leave_transactions();
    waiting = std::jthread([&] {
      const std::unique_lock late(this->lock_, hours(1));
      entered = late.owns_lock();
    });
  }
  waiting.join();
  EXPECT_TRUE(entered);
}

TYPED_TEST(elided_timed, loses_no_increment_of_who_waits_for_a_limited_time) {
  constexpr std::uint64_t rounds = 100;
  std::uint64_t counter = 0;
  run_threads(3, [&](unsigned i) {
    for (std::uint64_t n = 0; n < rounds; ++n) {
      while (!this->lock_.try_lock_for(microseconds(i))) std::this_thread::yield();
      ++counter;
      this->lock_.unlock();
    }
  });
  EXPECT_EQ(counter, 3 * rounds);
}

// An outer section that is a transaction is begun again under its lock, as it cannot wait.
TYPED_TEST(elided_timed, is_entered_inside_of_another_one) {
  TypeParam inner;
  std::uint64_t word = 0;
  run_threads(2, [&](unsigned i) {
    for (unsigned n = 0; n < 100; ++n) {
      const std::scoped_lock outer(this->lock_);
      if (i == 0) leave_transactions();
      const std::unique_lock within(inner, hours(1));
      ASSERT_TRUE(within.owns_lock());
      ++word;
    }
  });
  EXPECT_EQ(word, 200U);
}

template <class Lock>
class elided_shared_timed : public elided_timed<Lock> {};
using shared_timed_locks = testing::Types<probe::elided_shared_lock<std::shared_timed_mutex>,
                                          compact_shared_lock<std::shared_timed_mutex>>;
TYPED_TEST_SUITE(elided_shared_timed, shared_timed_locks);

TYPED_TEST(elided_shared_timed, is_shared_in_time_or_not_at_all) {
  {
    const std::shared_lock reading(this->lock_, hours(1));
    EXPECT_TRUE(reading.owns_lock());
    leave_transactions();
    std::jthread([&] {
      EXPECT_TRUE(std::shared_lock(this->lock_, steady_clock::now()).owns_lock());
      EXPECT_FALSE(this->lock_.try_lock_for(microseconds(1)));
    }).join();
  }
  const std::scoped_lock writing(this->lock_);
  leave_transactions();
  std::jthread([&] {
    EXPECT_FALSE(this->lock_.try_lock_shared_for(microseconds(1)));
    EXPECT_FALSE(this->lock_.try_lock_shared_until(steady_clock::now()));
  }).join();
}

// --- misuse -------------------------------------------------------------------------------------

#if ASSAY_CHECKS
TYPED_TEST(elided, finds_misuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(this->lock_.unlock(), "assay: an elided lock is unlocked by a thread that does not");
  EXPECT_DEATH(
      {
        this->lock_.lock();
        std::jthread([&] { this->lock_.unlock(); }).join();
      },
      "assay: an elided lock is unlocked by a thread that does not hold it");
  EXPECT_DEATH(
      {
        TypeParam destroyed;
        destroyed.lock();
      },
      "assay: an elided lock is destroyed while it is held");
  EXPECT_DEATH(
      {
        this->lock_.lock();
        this->lock_.lock();
      },
      "assay: an elided lock is locked again by the thread that holds it");
}

TEST(elided_shared, finds_misuse_by_readers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  probe::elided_shared_lock<> lock;
  EXPECT_DEATH(lock.unlock_shared(), "assay: an elided shared lock is unlocked by a thread that");
  EXPECT_DEATH(
      {
        probe::elided_shared_lock<> destroyed;
        destroyed.lock_shared();
      },
      "assay: an elided lock is destroyed while it is held");
}

// Instead of waiting for itself.
TEST(elided_shared, finds_that_it_is_locked_again) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const message = "assay: an elided lock is locked again by the thread that holds it";
  probe::elided_shared_lock<std::shared_timed_mutex> lock;
  {
    const std::shared_lock reading(lock);
    EXPECT_DEATH(lock.lock(), message);
    EXPECT_DEATH(static_cast<void>(lock.try_lock()), message);
    EXPECT_DEATH(lock.lock_shared(), message);
    EXPECT_DEATH(static_cast<void>(lock.try_lock_shared()), message);
    EXPECT_DEATH(static_cast<void>(lock.try_lock_shared_for(hours(1))), message);
  }
  const std::scoped_lock writing(lock);
  EXPECT_DEATH(lock.lock_shared(), message);
  EXPECT_DEATH(static_cast<void>(lock.try_lock_shared()), message);
}

TEST(elided_shared, is_shared_by_a_thread_with_many_others) {
  constexpr std::size_t many = 20;  // more than are checked
  for (int round = 0; round < 2; ++round) {
    std::array<probe::elided_shared_lock<>, many> shared;
    for (auto& lock : shared) lock.lock_shared();
    for (auto& lock : shared) lock.unlock_shared();
    for (auto& lock : shared) lock.lock();
    for (auto& lock : shared) lock.unlock();
  }
}
#endif

}  // namespace
}  // namespace assay::sync
