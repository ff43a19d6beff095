// Builds with checks say what was misused of locks. Elided locks: elided_lock_test.cpp.

#define ASSAY_CHECKS 1

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "assay/locks/optimistic_lock.h"
#include "assay/locks/optimistic_section.h"
#include "assay/locks/spin_lock.h"
#include "assay/locks/version_locks.h"

namespace assay::sync {
namespace {

class misuse_death : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

template <class Lock>
class section_misuse_death : public misuse_death {
 protected:
  optimistic_section<Lock> lock_;
  section_word<int> word_{0};
};
using locks = testing::Types<std::mutex, std::shared_mutex, spin_lock>;
TYPED_TEST_SUITE(section_misuse_death, locks);

TYPED_TEST(section_misuse_death, of_readers_that_write_and_of_writes_before_begin) {
  const char* const message =
      "assay: a section_word is written by an optimistic section that only reads, or before";
  EXPECT_DEATH(this->lock_.read([&] { this->word_.write(1); }), message);
  EXPECT_DEATH(this->lock_.write([&](auto& /*change*/) { this->word_.write(1); }), message);
}

// Instead of waiting for itself.
TYPED_TEST(section_misuse_death, of_sections_that_are_entered_again) {
  const char* const message = "assay: an optimistic section is entered again by its own thread";
  EXPECT_DEATH(this->lock_.read([&] { this->lock_.read([] {}); }), message);
  EXPECT_DEATH(this->lock_.write([&] { this->lock_.read([] {}); }), message);
  EXPECT_DEATH(this->lock_.read([&] { this->lock_.write([] {}); }), message);
  EXPECT_DEATH(this->lock_.write([&] { this->lock_.write([] {}); }), message);
  EXPECT_DEATH(this->lock_.write([&] { static_cast<void>(this->lock_.try_write([] {})); }),
               message);
}

TYPED_TEST(section_misuse_death, of_sections_that_are_destroyed_while_they_are_used) {
  auto destroyed = std::make_unique<optimistic_section<TypeParam>>();
  EXPECT_DEATH(destroyed->read([&] { destroyed.reset(); }),
               "assay: an optimistic section is destroyed by a thread that is inside of it");
  EXPECT_DEATH(destroyed->write([&] { std::jthread([&] { destroyed.reset(); }).join(); }),
               "assay: an optimistic section is destroyed while another thread changes it");
}

TYPED_TEST(section_misuse_death, is_not_found_where_sections_of_two_are_entered) {
  optimistic_section<TypeParam> other;
  this->lock_.write([&] { other.read([&] { static_cast<void>(this->word_.read()); }); });
  this->lock_.read([&] { other.write([&] { this->word_.write(1); }); });
  EXPECT_EQ(this->word_.read(), 1);
}

TEST_F(misuse_death, of_spin_locks) {
  spin_lock lock;
  EXPECT_DEATH(lock.unlock(), "assay: a spin lock that nobody holds is unlocked");
  EXPECT_DEATH(
      {
        spin_lock destroyed;
        destroyed.lock();
      },
      "assay: a spin lock is destroyed while it is held");
  const std::scoped_lock held(lock);
}

TEST_F(misuse_death, of_optimistic_locks) {
  const char* const message = "assay: an optimistic lock that nobody holds is unlocked";
  optimistic_lock lock;
  EXPECT_DEATH(lock.unlock(), message);
  EXPECT_DEATH(lock.unlock_unchanged(), message);
  EXPECT_DEATH(lock.unlock_obsolete(), message);
  EXPECT_TRUE(lock.try_lock(lock.read()));
  EXPECT_DEATH(static_cast<void>(lock.try_lock(lock.read())),
               "assay: an optimistic lock is to be taken at a version at which it was not free");
}

TEST_F(misuse_death, of_version_locks) {
  const char* const message = "assay: a version lock that nobody holds is unlocked";
  version_locks pair;
  for (const std::size_t side : {0U, 1U}) {
    EXPECT_TRUE(pair.try_lock(1 - side, pair.read()));
    EXPECT_DEATH(pair.unlock(side), message);
    EXPECT_DEATH(pair.unlock_unchanged(side), message);
    pair.unlock(1 - side);
  }
}

}  // namespace
}  // namespace assay::sync
