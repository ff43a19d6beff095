#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "assay/random/engine.h"
#include "assay/random/engines.h"
#include "assay/random/engines_test_types.h"
#include "assay/random/registered_engine.h"

namespace assay::random {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class counting final : public entropy {
 public:
  std::uint64_t draw() override { return 1000 + drawn++; }
  [[nodiscard]] std::string source() const override { return "a counter"; }

  std::uint64_t drawn = 0;
};

// The next `count` numbers, in calls of uneven sizes, of which some take none.
std::vector<std::uint64_t> numbers_of(number_source& source, std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::size_t size = 0;
  for (auto left = std::span(numbers); !left.empty();) {
    const std::size_t next = std::min(size, left.size());
    source.fill(left.first(next));
    left = left.subspan(next);
    size = (size * 5 + 3) % 67;
  }
  return numbers;
}

template <class Engine>
std::vector<std::uint64_t> draws_of(Engine& engine, std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (auto& number : numbers) number = engine();
  return numbers;
}

constexpr std::size_t draws_for_64_bits(int bits) {
  return static_cast<std::size_t>((63 + bits) / bits);
}

// Draws joined to numbers of 64 bits, in another way than the sources do it: as a number of base
// 2^bits, from its highest digit down.
std::vector<std::uint64_t> joined(std::span<const std::uint64_t> draws, int bits) {
  const std::size_t each = draws_for_64_bits(bits);
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i + each <= draws.size(); i += each) {
    std::uint64_t number = draws[i + each - 1];
    for (std::size_t j = each - 1; j-- > 0;) number = (number << bits) + draws[i + j];
    numbers.push_back(number);
  }
  return numbers;
}

template <class Engine>
class source_of : public ::testing::Test {};
TYPED_TEST_SUITE(source_of, every_seeded_engine_as_types, engine_names);

TYPED_TEST(source_of, draws_in_place_what_the_engine_draws) {
  TypeParam engine(7);
  const auto source = make_number_source({.name = std::string(TypeParam::name)}, 7);
  EXPECT_EQ(source->bits(), TypeParam::bits);
  EXPECT_EQ(numbers_of(*source, 2000), draws_of(engine, 2000));
}

TYPED_TEST(source_of, draws_64_bits_when_asked_to) {
  TypeParam engine(7);
  const auto source = make_wide_number_source({.name = std::string(TypeParam::name)}, 7);
  EXPECT_EQ(source->bits(), 64);
  EXPECT_EQ(numbers_of(*source, 500),
            joined(draws_of(engine, 500 * draws_for_64_bits(TypeParam::bits)), TypeParam::bits));
}

TYPED_TEST(source_of, repeats_an_array) {
  TypeParam engine(7);
  const auto source = make_number_source({.name = std::string(TypeParam::name), .array = 101}, 7);
  EXPECT_EQ(source->bits(), TypeParam::bits);
  const auto array = draws_of(engine, 101);
  const auto numbers = numbers_of(*source, 1000);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(numbers[i], array[i % 101]) << "number " << i;
}

TYPED_TEST(source_of, reseeds_after_exactly_so_many_numbers) {
  for (const std::size_t every : {1U, 2U, 67U, 300U}) {
    counting fresh;
    const auto source =
        make_number_source({.name = std::string(TypeParam::name), .reseed_every = every}, 7, fresh);
    const auto numbers = numbers_of(*source, 1000);
    EXPECT_EQ(fresh.drawn, (1000 - 1) / every);

    TypeParam engine(7);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      if (i > 0 && i % every == 0) engine = TypeParam(engine() ^ (1000 + i / every - 1));
      expected.push_back(engine());
    }
    EXPECT_EQ(numbers, expected) << "every " << every;
  }
}

TYPED_TEST(source_of, draws_an_array_once_by_a_reseeded_engine) {
  counting fresh;
  const auto in_place =
      make_number_source({.name = std::string(TypeParam::name), .reseed_every = 10}, 7, fresh);
  const auto array = numbers_of(*in_place, 100);
  fresh.drawn = 0;
  const auto source = make_number_source(
      {.name = std::string(TypeParam::name), .array = 100, .reseed_every = 10}, 7, fresh);
  EXPECT_EQ(fresh.drawn, 9U);
  const auto numbers = numbers_of(*source, 300);
  EXPECT_EQ(fresh.drawn, 9U);
  for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(numbers[i], array[i % 100]) << "number " << i;
}

// Two draws a number: every third number is drawn after four draws.
TEST(make_wide_number_source, counts_its_own_numbers_until_it_reseeds) {
  counting fresh;
  const auto source = make_wide_number_source({.name = "mrg32k3a", .reseed_every = 2}, 7, fresh);
  const auto numbers = numbers_of(*source, 6);
  mrg32k3a engine(7);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto next = [&] {
      const std::uint64_t low = engine();
      return low | engine() << 32;
    };
    if (i == 2 || i == 4) engine = mrg32k3a(next() ^ (1000 + i / 2 - 1));
    expected.push_back(next());
  }
  EXPECT_EQ(numbers, expected);
}

TEST(make_wide_number_source, joins_three_draws_of_rand) {
  const auto source = make_wide_number_source({.name = "c_rand"}, 7);
  std::srand(1);  // NOLINT(concurrency-mt-unsafe): there is one thread
  const auto drawn = numbers_of(*source, 1);
  const std::uint64_t expected =
      1804289383U | std::uint64_t{846930886} << 31 | std::uint64_t{1681692777} << 62;
  EXPECT_THAT(drawn, ElementsAre(expected));
}

TEST(make_number_source, draws_from_the_hardware) {
  if (!find_engine("rdrand").available) GTEST_SKIP() << "this processor has no RDRAND";
  const auto source = make_number_source({.name = "rdrand"}, 7);
  const auto again = make_number_source({.name = "rdrand"}, 7);
  EXPECT_NE(numbers_of(*source, 10), numbers_of(*again, 10));
  const auto array = make_number_source({.name = "rdrand", .array = 5}, 7);
  EXPECT_EQ(numbers_of(*array, 5), numbers_of(*array, 5));
}

TEST(engines, begin_with_the_default_and_have_names_of_their_own) {
  EXPECT_EQ(engines().front().name, engine_choice{}.name);
  std::vector<std::string_view> names;
  for (const auto& engine : engines()) names.push_back(engine.name);
  std::ranges::sort(names);
  EXPECT_THAT(std::ranges::adjacent_find(names), names.end());
}

TEST(engines, that_do_not_exist_are_refused_with_the_nearest_names) {
  EXPECT_THAT([] { return make_number_source({.name = "xoshiro256+"}, 0); },
              ThrowsMessage<unknown_engine>("there is no engine \"xoshiro256+\"; did you mean "
                                            "\"xoshiro256pp\" or \"xoshiro256ss\"?"));
  EXPECT_THAT([] { return make_wide_number_source({.name = "MM2"}, 0); },
              ThrowsMessage<unknown_engine>(HasSubstr("did you mean \"mm2\"?")));
  EXPECT_THROW(static_cast<void>(not_replayable_because({.name = ""}, 1)), unknown_engine);
}

TEST(engines, that_the_processor_lacks_are_refused) {
  const engine_facts lacking{.name = "rdrand",
                             .description = "",
                             .source = "",
                             .state_bits = 0,
                             .bits = 64,
                             .available = false,
                             .replayable = false,
                             .shared = false};
  EXPECT_THAT([&] { check({.name = "rdrand"}, lacking); },
              ThrowsMessage<unknown_engine>("this processor does not have the engine \"rdrand\""));
}

TEST(make_number_source, refuses_what_makes_no_sense) {
  EXPECT_THAT([] { return make_number_source({.array = 0}, 0); },
              ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("array: "), HasSubstr("one"))));
  EXPECT_THAT(
      [] { return make_number_source({.reseed_every = 0}, 0); },
      ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("reseed_every: "), HasSubstr("one"))));
  EXPECT_THAT([] { check({.name = "rdrand", .reseed_every = 1}, find_engine("rdrand")); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("rdrand has no state")));
  EXPECT_THAT([] { return make_number_source({.name = "c_rand", .reseed_every = 1}, 0); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("the one state of c_rand")));
}

TEST(replayable, unless_the_numbers_are_of_the_hardware_or_of_all_threads) {
  EXPECT_THAT(not_replayable_because({}, 4096), IsEmpty());
  EXPECT_THAT(not_replayable_because({.name = "mt19937_64", .array = 10}, 2), IsEmpty());
  EXPECT_TRUE(replayable({.name = "c_rand"}, 1));
  EXPECT_FALSE(replayable({.name = "c_rand"}, 2));
  EXPECT_THAT(not_replayable_because({.name = "c_rand", .array = 10}, 2),
              HasSubstr("one state of c_rand"));
  EXPECT_THAT(not_replayable_because({.name = "rdrand"}, 1), HasSubstr("hardware"));
  EXPECT_THAT(not_replayable_because({.name = "pcg64", .reseed_every = 1'000'000}, 1),
              AllOf(HasSubstr("pcg64 is reseeded every 1000000 numbers"),
                    HasSubstr(system_entropy().source())));
  EXPECT_THAT(
      not_replayable_because({.name = "pcg64", .reseed_every = 10, .reseed_from = "kernel"}, 1),
      HasSubstr("entropy from getrandom"));
  EXPECT_THAT(
      not_replayable_because({.name = "pcg64", .reseed_every = 10, .reseed_from = "mm3"}, 2),
      IsEmpty());
}

TEST(reseed_from, an_engine_gives_the_same_numbers_for_the_same_seed_and_others_than_before) {
  const engine_choice reseeded{.name = "pcg64", .reseed_every = 10, .reseed_from = "mm3"};
  const auto numbers = [](const engine_choice& choice, std::uint64_t seed) {
    return numbers_of(*make_number_source(choice, seed), 100);
  };
  const auto first = numbers(reseeded, 7);
  const auto plain = numbers({.name = "pcg64"}, 7);
  EXPECT_EQ(numbers(reseeded, 7), first);
  EXPECT_NE(numbers(reseeded, 8), first);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 10, plain.begin()));
  EXPECT_NE(first, plain);
  auto other = reseeded;
  other.reseed_from = "wyrand";
  EXPECT_NE(numbers(other, 7), first);
}

TEST(reseed_from, the_kernel_gives_other_numbers_every_time) {
  const engine_choice reseeded{.name = "pcg64", .reseed_every = 10, .reseed_from = "kernel"};
  EXPECT_NE(numbers_of(*make_number_source(reseeded, 7), 100),
            numbers_of(*make_number_source(reseeded, 7), 100));
}

TEST(reseed_from, what_gives_no_seeds_is_refused) {
  const auto checked = [](const std::string& from) {
    return [from] {
      check({.name = "pcg64", .reseed_every = 10, .reseed_from = from}, find_engine("pcg64"));
    };
  };
  EXPECT_THAT(checked("nowhere"), ThrowsMessage<std::invalid_argument>(
                                      HasSubstr("\"nowhere\" is none of rdseed, rdrand, kernel")));
  EXPECT_THAT(checked("c_rand"),
              ThrowsMessage<std::invalid_argument>(HasSubstr("no stream of its own")));
  EXPECT_THAT([] { check({.name = "pcg64", .reseed_from = "kernel"}, find_engine("pcg64")); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("belongs to reseed_every")));
}

class counting_engine {
 public:
  static constexpr std::string_view name = "counting_engine";
  static constexpr std::string_view description = "counts from its seed on";
  static constexpr std::string_view source = "this test";
  static constexpr int state_bits = 64;
  static constexpr int bits = 32;
  explicit counting_engine(std::uint64_t seed) : next_(seed) {}
  std::uint64_t operator()() { return next_++ & UINT32_MAX; }

 private:
  std::uint64_t next_;
};
TEST(registered_engine, is_drawn_from_by_its_name_as_every_other) {
  const registered_engine<counting_engine> registered;
  EXPECT_EQ(find_engine("counting_engine").bits, 32);
  EXPECT_THAT(numbers_of(*make_number_source({.name = "counting_engine"}, 5), 3),
              ElementsAre(5, 6, 7));
  EXPECT_THAT(numbers_of(*make_wide_number_source({.name = "counting_engine"}, 5), 1),
              ElementsAre(5 + (std::uint64_t{6} << 32U)));
  EXPECT_THAT([] { const registered_engine<counting_engine> again; },
              ThrowsMessage<std::logic_error>(HasSubstr("two engines \"counting_engine\"")));
}

}  // namespace
}  // namespace assay::random
