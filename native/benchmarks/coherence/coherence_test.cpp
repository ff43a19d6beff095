// That lines move in the simulation as MESI has them move, and that traced code is seen. This file
// is traced code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "caches.h"
#include "processors.h"
#include "trace.h"

namespace {

using namespace assay::coherence;

// Memory for the simulation to number: line i begins at words[8 * i].
struct alignas(64) lines {
  std::array<std::uint64_t, 1024> words{};

  const std::uint64_t* operator()(std::size_t line, std::size_t word = 0) const {
    return &words[8 * line + word];
  }
};
const lines memory;

void read(caches& all, unsigned processor, const std::uint64_t* word) {
  all.access(processor, word, sizeof *word, false);
}
void write(caches& all, unsigned processor, const std::uint64_t* word) {
  all.access(processor, word, sizeof *word, true);
}

TEST(caches, a_write_ends_every_reader_s_copy_and_each_fetches_the_line_again) {
  caches all(8);
  for (unsigned reader = 1; reader < 8; ++reader) read(all, reader, memory(0));
  EXPECT_EQ(all.counted().from_memory, 7);
  all.start_counting();
  for (int times = 0; times < 10; ++times) {
    write(all, 0, memory(0));
    for (unsigned reader = 1; reader < 8; ++reader) {
      read(all, reader, memory(0));
      read(all, reader, memory(0));
    }
  }
  EXPECT_EQ(all.counted().invalidated, 10 * 7);
  EXPECT_EQ(all.counted().fetched, 10 * 7);
  EXPECT_EQ(all.counted().claimed, 9);      // what the writer had shared with the readers since
  EXPECT_EQ(all.counted().from_memory, 1);  // its first access of all
  EXPECT_EQ(all.transfers_of_busiest(), 79);
}

TEST(caches, a_line_that_one_processor_alone_uses_does_not_move) {
  caches all(64);
  for (int times = 0; times < 100; ++times) {
    for (unsigned i = 0; i < 64; ++i) {
      read(all, i, memory(i));
      write(all, i, memory(i));
    }
  }
  EXPECT_EQ(all.counted().transfers(), 0);
  EXPECT_EQ(all.counted().invalidated, 0);
  EXPECT_EQ(all.counted().from_memory, 64);
}

TEST(caches, what_all_only_read_does_not_move) {
  caches all(64);
  for (int times = 0; times < 100; ++times) {
    for (unsigned i = 0; i < 64; ++i) read(all, i, memory(0));
  }
  EXPECT_EQ(all.counted().transfers(), 0);
  EXPECT_EQ(all.counted().from_memory, 64);
}

TEST(caches, two_counters_in_one_line_move_it_and_a_line_apart_they_do_not) {
  for (const bool apart : {false, true}) {
    caches all(2);
    for (int times = 0; times < 100; ++times) {
      write(all, 0, memory(0, 0));
      write(all, 1, apart ? memory(1, 0) : memory(0, 7));
    }
    EXPECT_EQ(all.counted().fetched, apart ? 0 : 199);
    EXPECT_EQ(all.counted().invalidated, apart ? 0 : 199);
  }
}

TEST(caches, an_access_may_take_two_lines) {
  caches all(1);
  all.access(0, memory(0, 7), 16, false);
  EXPECT_EQ(all.counted().from_memory, 2);
}

TEST(caches, the_line_used_longest_ago_gives_way_and_comes_back_from_memory) {
  caches all(2);
  std::vector<lines> much(caches::ways * caches::sets * 64 / sizeof(lines) + 1);
  const auto read_all = [&] {
    for (const lines& part : much) {
      for (std::size_t line = 0; line < part.words.size() / 8; ++line) read(all, 0, part(line));
    }
  };
  write(all, 0, memory(0));
  read_all();
  all.start_counting();
  read(all, 1, memory(0));  // was written back when it gave way
  EXPECT_EQ(all.counted().fetched, 0);
  EXPECT_EQ(all.counted().from_memory, 1);
  all.start_counting();
  read(all, 0, memory(0));
  EXPECT_EQ(all.counted().from_memory, 1);
}

struct near {
  volatile std::uint64_t value = 0;
  void add() { value = value + 1; }
};
struct alignas(64) apart : near {};
struct atomic_near {
  std::atomic<std::uint64_t> value{0};
  void add() { ++value; }
};
struct alignas(64) atomic_apart : atomic_near {};

// What traced threads count while each in its turns adds one to a number of its own.
template <class Number>
caches::counts counted_by(std::uint64_t seed) {
  alignas(64) std::array<Number, 4> numbers{};
  processors four(4);
  caches all(4);
  four.at_random(1000, seed, [&](unsigned i) {
    const tracing as(all, i);
    numbers[i].add();
  });
  std::uint64_t sum = 0;
  for (const Number& each : numbers) sum += each.value;
  EXPECT_EQ(sum, 1000);
  return all.counted();
}

TEST(tracing, sees_plain_and_atomic_accesses) {
  EXPECT_EQ(counted_by<apart>(1).transfers(), 0);
  EXPECT_EQ(counted_by<atomic_apart>(1).transfers(), 0);
  EXPECT_NEAR(static_cast<double>(counted_by<atomic_near>(1).fetched), 750, 50);
  // A read that fetches, and then the write, which has the line for itself.
  const caches::counts plain = counted_by<near>(1);
  EXPECT_NEAR(static_cast<double>(plain.fetched), 750, 50);
  EXPECT_EQ(plain.claimed, plain.fetched);
}

TEST(tracing, counts_the_same_for_the_same_seed) {
  EXPECT_EQ(counted_by<near>(7).fetched, counted_by<near>(7).fetched);
  EXPECT_NE(counted_by<near>(7).fetched, counted_by<near>(8).fetched);
}

TEST(tracing, sees_locks_of_the_c_library) {
  std::mutex mutex;
  std::shared_mutex shared;
  caches all(2);
  for (int times = 0; times < 10; ++times) {
    for (const unsigned processor : {0U, 1U}) {
      const tracing as(all, processor);
      const std::scoped_lock one(mutex);
      const std::shared_lock other(shared);
    }
  }
  EXPECT_EQ(all.transfers_of_busiest(), 19);
}

TEST(tracing, sees_nothing_of_a_thread_that_is_not_traced) {
  caches all(1);
  std::atomic<int> number = 0;
  {
    const tracing as(all, 0);
  }
  ++number;
  EXPECT_EQ(all.counted().from_memory, 0);
}

TEST(processors, take_turns_at_random_or_in_order) {
  processors three(3);
  std::vector<unsigned> order;
  three.each([&](unsigned i) { order.push_back(i); });
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2));
  std::array<int, 3> times{};
  three.at_random(300, 5, [&](unsigned i) { ++times[i]; });
  EXPECT_EQ(times[0] + times[1] + times[2], 300);
  EXPECT_THAT(times, testing::Each(testing::Gt(50)));
}

}  // namespace
