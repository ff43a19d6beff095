#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/garbage_sets.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "assay/reclaim/records.h"
#include "tests/reclaim/reclaim_test_nodes.h"

namespace assay::reclaim {
namespace {

// Frees at once. No policy at all, but what tests of protection must reject.
struct hasty {
  struct guard {
    template <class T>
    T* protect(std::size_t /*slot*/, const atomic<T*>& source) {
      return source.load();
    }
    void retire(node* old) { delete old; }
  };
  struct participant {
    guard pin() { return {}; }
  };
  participant join() { return {}; }
};

template <class P>
class reclaim : public policy_test<P> {};
TYPED_TEST_SUITE(reclaim, policies);

TYPED_TEST(reclaim, satisfies_the_concept) { static_assert(policy<TypeParam>); }

// A policy that lacks one of the calls, or has one that fails where it must not.
enum class lack : std::uint8_t {
  nothing,
  default_domain,
  protect,
  protect_to_read,
  protect_marked,
  reads_that_never_fail,
  retire,
  retire_with_deleter,
  retire_that_never_fails,
  retire_with_state,
  retire_of_functions,
  functions_with_state,
  unfreed,
};
template <lack Lack, protection Protects = protection::everything>
struct sketch {
  static constexpr protection protects = Protects;
  static constexpr bool nests = false;

  struct read_guard {
    any_node* protect(std::size_t, const atomic<any_node*>&)
      requires(Lack != lack::protect_to_read);
    std::uintptr_t protect(std::size_t, const atomic<std::uintptr_t>&, auto);
  };
  struct guard {
    any_node* protect(std::size_t, const atomic<any_node*>&)
      requires(Lack != lack::protect);
    std::uintptr_t protect(std::size_t, const atomic<std::uintptr_t>&, auto)
      requires(Lack != lack::protect_marked);
    void retire(any_node*) noexcept
      requires(Lack != lack::retire);
    void retire(any_node*, any_plain_deleter) noexcept(Lack != lack::retire_that_never_fails)
      requires(Lack != lack::retire_with_deleter);
    void retire(any_node*, any_deleter)
      requires(Lack != lack::retire_with_state);
    void retire(any_plain_function) noexcept
      requires(Lack != lack::retire_of_functions);
    void retire(any_function)
      requires(Lack != lack::functions_with_state);
  };
  struct participant {
    guard pin();
    read_guard pin_to_read() noexcept(Lack != lack::reads_that_never_fail);
  };
  sketch()
    requires(Lack != lack::default_domain);
  participant join();
  std::uint64_t unfreed() const
    requires(Lack != lack::unfreed);
};
static_assert(policy<sketch<lack::nothing>>);
static_assert(!policy<sketch<lack::default_domain>>);
static_assert(!policy<sketch<lack::protect>>);
static_assert(!policy<sketch<lack::protect_to_read>>);
static_assert(!policy<sketch<lack::protect_marked>>);
static_assert(!policy<sketch<lack::reads_that_never_fail>>);
static_assert(!policy<sketch<lack::retire>>);
static_assert(!policy<sketch<lack::retire_with_deleter>>);
static_assert(!policy<sketch<lack::retire_that_never_fails>>);
static_assert(!policy<sketch<lack::retire_with_state>>);
static_assert(!policy<sketch<lack::retire_of_functions>>);
static_assert(!policy<sketch<lack::functions_with_state>>);
static_assert(!policy<sketch<lack::unfreed>>);
static_assert(policy<sketch<lack::retire_of_functions, protection::named>>);

TYPED_TEST(reclaim, frees_all_exactly_once_in_the_end) {
  {
    TypeParam domain;
    auto me = domain.join();
    retire(me, 1000);
    EXPECT_EQ(node::live, domain.unfreed());
  }
  this->expect_live(1000);
}

TYPED_TEST(reclaim, frees_while_it_runs) {
  TypeParam domain;
  auto me = domain.join();
  retire(me, 10 * many);
  EXPECT_EQ(node::live, domain.unfreed());
  if (frees<TypeParam>) {
    EXPECT_LT(node::live, many);
  }
}

TYPED_TEST(reclaim, frees_all_at_rest) {
  TypeParam domain;
  auto me = domain.join();
  auto other = domain.join();
  domain.join();  // and has left
  domain.free_all();
  std::uint64_t retired = 0;
  for (const std::uint64_t nodes : {std::uint64_t{1}, std::uint64_t{1000}, 2 * many}) {
    retire(me, nodes);
    retire(other, nodes);
    {
      auto third = domain.join();
      retire(third, nodes);
    }
    retired += 3 * nodes;
    // By any thread.
    std::thread([&domain] { domain.free_all(); }).join();
    this->expect_live(retired);
    EXPECT_EQ(domain.unfreed(), node::live);
  }
}

TYPED_TEST(reclaim, retires_any_type) {
  struct base {
    virtual ~base() = default;
  };
  struct derived : base {
    node member;
  };
  {
    TypeParam domain;
    auto me = domain.join();
    auto guard = me.pin();
    guard.retire(static_cast<base*>(new derived));
    guard.retire(new std::vector<int>(10));
    guard.retire(static_cast<const int*>(new int(10)));
  }
  this->expect_live(1);
}

// Nodes that come from elsewhere than new, and go there.
struct pooled {
  static inline int at_home = 0;
};
TYPED_TEST(reclaim, hands_nodes_to_a_deleter) {
  std::array<pooled, 100> pool;
  pooled::at_home = 0;
  TypeParam domain;
  auto me = domain.join();
  for (pooled& each : pool) me.pin().retire(&each, [](pooled*) { ++pooled::at_home; });
  domain.free_all();
  EXPECT_EQ(pooled::at_home, frees<TypeParam> ? 100 : 0);
}

// Sets of garbage wait until each participant has begun another guard, whatever else it does.
template <class P>
void begin_anew(typename P::participant& me) {
  if constexpr (std::is_same_v<P, garbage_sets>) me.pin();
}

// Counts its copies, and so shows whether a deleter's state is destroyed.
struct counted_state {
  counted_state() { ++live; }
  counted_state(const counted_state&) { ++live; }
  counted_state(counted_state&&) noexcept { ++live; }
  counted_state& operator=(const counted_state&) = delete;
  ~counted_state() { --live; }
  static inline int live = 0;
};

TYPED_TEST(reclaim, keeps_the_state_of_a_deleter) {
  std::array<int, 1000> pool{};
  int calls = 0;  // a pointer to it fits
  const int expected = frees<TypeParam> ? 1 : 0;
  {
    TypeParam domain;
    auto me = domain.join();
    for (int& each : pool) {
      const auto of_one_word = [&calls](int* node) { ++*node, ++calls; };
      static_assert(
          noexcept(std::declval<typename TypeParam::guard&>().retire(&each, of_one_word)));
      me.pin().retire(&each, of_one_word);
    }
    domain.free_all();
    EXPECT_EQ(calls, expected * 1000);
    // Larger; not copied trivially; not copied at all.
    for (int& each : pool) {
      me.pin().retire(&each,
                      [one = &each, two = &calls](int* node) { *node += one == node, ++*two; });
      me.pin().retire(&each, [counted = counted_state(), &calls](int*) { ++calls; });
      me.pin().retire(&each, [owned = std::make_unique<int>(1)](int* node) { *node += *owned; });
    }
  }
  for (const int each : pool) EXPECT_EQ(each, 3 * expected);
  EXPECT_EQ(counted_state::live, 0);
}

int calls_of_a_plain_function = 0;
template <class P>
class reclaim_everything : public policy_test<P> {};
TYPED_TEST_SUITE(reclaim_everything, policies_for_everything);

TYPED_TEST(reclaim_everything, calls_a_function_once_all_guards_have_ended) {
  bool called = false;
  TypeParam domain;
  auto reader = domain.join();
  auto writer = domain.join();
  {
    auto guard = reader.pin_to_read();
    writer.pin().retire([&called] {
      EXPECT_FALSE(called);
      called = true;
    });
    EXPECT_EQ(domain.unfreed(), 1U);
    retire(writer, many);
    EXPECT_FALSE(called);
  }
  begin_anew<TypeParam>(reader);
  retire(writer, many);
  EXPECT_EQ(called, frees<TypeParam>);
}

TYPED_TEST(reclaim_everything, calls_functions_of_any_size) {
  calls_of_a_plain_function = 0;
  int calls = 0;
  int sum = 0;
  {
    TypeParam domain;
    auto me = domain.join();
    me.pin().retire(+[] { ++calls_of_a_plain_function; });
    me.pin().retire([&calls, &sum, counted = counted_state(), owned = std::make_unique<int>(7)] {
      ++calls;
      sum += *owned;
    });
  }
  EXPECT_EQ(calls_of_a_plain_function, frees<TypeParam> ? 1 : 0);
  EXPECT_EQ(calls, frees<TypeParam> ? 1 : 0);
  EXPECT_EQ(sum, frees<TypeParam> ? 7 : 0);
  EXPECT_EQ(counted_state::live, 0);
}

// Guards of one participant, of either kind, that end in either order.
TYPED_TEST(reclaim, counts_guards_of_one_participant_as_one) {
  if constexpr (TypeParam::nests) {
    using guard = typename TypeParam::guard;
    using read_guard = typename TypeParam::read_guard;
    for (const bool reads : {false, true}) {
      for (const bool first_ends_first : {false, true}) {
        bool freed = false;
        TypeParam domain;
        atomic<node*> root{new node};
        root.load()->tell(freed);
        auto reader = domain.join();
        auto writer = domain.join();
        {
          // The heap, because guards cannot be moved.
          std::unique_ptr<read_guard> first(new read_guard(reader.pin_to_read()));
          first->protect(0, root);
          retire(writer, many);  // and as far as it can, advances the epoch
          std::unique_ptr<read_guard> second;
          std::unique_ptr<guard> other;
          reads ? second.reset(new read_guard(reader.pin_to_read()))
                : other.reset(new guard(reader.pin()));
          writer.pin().retire(root.exchange(nullptr));
          if (other != nullptr) other->retire(new node);
          if (first_ends_first) {
            first.reset();
          } else {
            second.reset();
            other.reset();
          }
          retire(writer, many);
          EXPECT_FALSE(freed);
        }
        retire(writer, many);
        EXPECT_EQ(freed, frees<TypeParam>);
      }
    }
  }
}

// Where guards do not nest, a thread has as many as it has participants.
TYPED_TEST(reclaim, keeps_guards_of_several_participants_of_one_thread_apart) {
  for (const bool outer_ends_first : {false, true}) {
    std::array<bool, 2> freed{};
    TypeParam domain;
    std::array<atomic<node*>, 2> roots{new node, new node};
    for (std::size_t i = 0; i < roots.size(); ++i) roots[i].load()->tell(freed[i]);
    std::array participants{domain.join(), domain.join()};
    auto writer = domain.join();
    std::array<std::unique_ptr<typename TypeParam::guard>, 2> guards;
    for (std::size_t i = 0; i < guards.size(); ++i) {
      // NOLINTNEXTLINE(modernize-make-unique): a guard cannot be moved
      guards[i].reset(new typename TypeParam::guard(participants[i].pin()));
      guards[i]->protect(0, roots[i]);
    }
    for (auto& root : roots) writer.pin().retire(root.exchange(nullptr));
    guards[1]->retire(new node);
    retire(writer, many);
    EXPECT_FALSE(freed[0] || freed[1]);
    const std::size_t first = outer_ends_first ? 0 : 1;
    guards[first].reset();
    retire(writer, many);
    EXPECT_FALSE(freed[1 - first]);
    guards[1 - first].reset();
    for (auto& each : participants) begin_anew<TypeParam>(each);
    retire(writer, many);
    EXPECT_EQ(freed[0], frees<TypeParam>);
    EXPECT_EQ(freed[1], frees<TypeParam>);
  }
}

// Whether a node stays that was protected before it was retired, while others retire many more.
template <class P>
bool protected_node_stays() {
  bool freed = false;
  P domain;
  atomic<node*> root{new node};
  root.load()->tell(freed);
  auto reader = domain.join();
  auto writer = domain.join();
  auto guard = reader.pin();
  guard.protect(0, root);
  writer.pin().retire(root.exchange(nullptr));
  retire(writer, many);
  return !freed;
}

TEST(garbage_sets, wait_for_who_is_idle) {
  bool freed = false;
  garbage_sets domain;
  auto idle = domain.join();
  auto writer = domain.join();
  auto* const old = new node;
  old->tell(freed);
  idle.pin();
  writer.pin().retire(old);
  retire(writer, many);
  EXPECT_FALSE(freed);
  idle.pin();
  retire(writer, many);
  EXPECT_TRUE(freed);
}

// The same where what is read holds a mark beside the pointer.
TYPED_TEST(reclaim, protects_words_with_marks) {
  bool freed = false;
  TypeParam domain;
  auto* const linked = new node;
  linked->tell(freed);
  const std::uintptr_t marked = reinterpret_cast<std::uintptr_t>(linked) | 1;
  atomic<std::uintptr_t> word{marked};
  auto reader = domain.join();
  auto writer = domain.join();
  {
    auto guard = reader.pin();
    const std::uintptr_t read = guard.protect(1, word, [](std::uintptr_t held) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): a marked pointer
      return reinterpret_cast<node*>(held & ~std::uintptr_t{1});
    });
    EXPECT_EQ(read, marked);
    word.store(0);
    writer.pin().retire(linked);
    retire(writer, many);
    EXPECT_FALSE(freed);
  }
  begin_anew<TypeParam>(reader);
  retire(writer, many);
  EXPECT_EQ(freed, frees<TypeParam>);
}

TYPED_TEST(reclaim, keeps_a_node_protected_by_a_guard_that_only_reads) {
  bool freed = false;
  TypeParam domain;
  atomic<node*> root{new node};
  root.load()->tell(freed);
  auto reader = domain.join();
  auto writer = domain.join();
  {
    auto guard = reader.pin_to_read();
    guard.protect(0, root);
    writer.pin().retire(root.exchange(nullptr));
    retire(writer, many);
    EXPECT_FALSE(freed);
  }
  begin_anew<TypeParam>(reader);
  retire(writer, many);
  EXPECT_EQ(freed, frees<TypeParam>);
}

TYPED_TEST(reclaim, keeps_a_protected_node) { EXPECT_TRUE(protected_node_stays<TypeParam>()); }
TEST(reclaim_tests, notice_a_node_freed_at_once) { EXPECT_FALSE(protected_node_stays<hasty>()); }

TYPED_TEST(reclaim, frees_a_node_when_its_reader_is_done) {
  if (!frees<TypeParam>) GTEST_SKIP();
  bool freed = false;
  TypeParam domain;
  atomic<node*> root{new node};
  root.load()->tell(freed);
  auto reader = domain.join();
  auto writer = domain.join();
  {
    auto guard = reader.pin();
    guard.protect(0, root);
    writer.pin().retire(root.exchange(nullptr));
  }
  retire(writer, many);
  begin_anew<TypeParam>(reader);
  retire(writer, many);
  EXPECT_TRUE(freed);
}

TEST(garbage_sets, wait_for_no_participant_that_has_left) {
  bool freed = false;
  garbage_sets domain;
  auto writer = domain.join();
  {
    auto reader = domain.join();
    reader.pin();
    auto* const old = new node;
    old->tell(freed);
    writer.pin().retire(old);
    retire(writer, garbage_sets_settings::nodes_of_a_set);
    EXPECT_FALSE(freed);
  }
  retire(writer, garbage_sets_settings::nodes_of_a_set + 1);
  EXPECT_TRUE(freed);
}

TEST(garbage_sets, of_who_left_are_freed_by_who_joins_next) {
  node::live = 0;
  garbage_sets domain;
  {
    auto left = domain.join();
    retire(left, 10);
  }
  auto next = domain.join();  // with the same record
  retire(next, 2 * garbage_sets_settings::nodes_of_a_set);
  EXPECT_LE(node::live, garbage_sets_settings::nodes_of_a_set);
}

TYPED_TEST(reclaim, serves_more_participants_than_a_chunk_has_records) {
  {
    TypeParam domain;
    std::vector<typename TypeParam::participant> participants;
    for (int i = 0; i < 100; ++i) participants.push_back(domain.join());
    for (auto& one : participants) retire(one, 3);
    EXPECT_EQ(domain.unfreed(), 300U);
  }
  this->expect_live(300);
}

struct empty_record : detail::record_base {};

TEST(records, are_no_more_than_threads_that_join_at_once) {
  constexpr std::size_t threads = 8;
  for (int round = 0; round < 300; ++round) {
    detail::record_list<empty_record, threads> records;
    std::barrier together(threads);
    {
      std::vector<std::jthread> crew;
      for (std::size_t t = 0; t < threads; ++t) {
        crew.emplace_back([&] {
          together.arrive_and_wait();
          empty_record& mine = records.claim();
          together.arrive_and_wait();
          records.release(mine);
        });
      }
    }
    std::size_t number = 0;
    records.all([&number](const empty_record&) { return ++number > 0; });
    ASSERT_EQ(number, threads) << "round " << round;
  }
}

TYPED_TEST(reclaim, lets_another_thread_destroy_a_participant_that_is_done) {
  {
    TypeParam domain;
    std::optional<typename TypeParam::participant> done;
    std::thread([&] {
      done.emplace(domain.join());
      retire(*done, 10);
    }).join();
    std::thread([&done] { done.reset(); }).join();
    auto next = domain.join();  // with the same record
    retire(next, 10);
    EXPECT_EQ(domain.unfreed(), node::live);
  }
  this->expect_live(20);
}

TYPED_TEST(reclaim, moves_participants) {
  TypeParam domain;
  auto first = domain.join();
  auto second = std::move(first);
  retire(second, 1);
  auto third = domain.join();
  third = std::move(second);
  retire(third, 1);
  EXPECT_EQ(domain.unfreed(), 2U);
}

TYPED_TEST(reclaim, takes_over_what_those_who_left_retired) {
  TypeParam domain;
  auto me = domain.join();
  std::thread([&domain] {
    auto other = domain.join();
    retire(other, 100);
  }).join();
  retire(me, many);
  // What is left is less than what one participant has waiting.
  if (frees<TypeParam>) {
    EXPECT_LT(domain.unfreed(), many / 2);
  }
}

TEST(epochs, a_thread_that_only_reads_frees_what_it_and_others_left) {
  node::live = 0;
  epochs domain;
  auto me = domain.join();
  retire(me, 3000);
  {
    auto other = domain.join();
    retire(other, 100);
  }
  for (int i = 0; i < 100 * epochs_settings::period && node::live > 0; ++i) me.pin_to_read();
  EXPECT_EQ(node::live, 0U);
  EXPECT_EQ(domain.unfreed(), 0U);
}

TYPED_TEST(reclaim, loses_nothing_when_a_thread_ends_without_leaving) {
  {
    TypeParam domain;
    std::optional<typename TypeParam::participant> left_behind;
    std::thread([&] {
      left_behind.emplace(domain.join());
      retire(*left_behind, 100);
    }).join();
    EXPECT_EQ(domain.unfreed(), 100U);
  }
  this->expect_live(100);
}

#if !ASSAY_CHECKS
TYPED_TEST(reclaim, loses_nothing_when_a_participant_is_leaked) {
  using participant = typename TypeParam::participant;
  alignas(participant) std::array<std::byte, sizeof(participant)> never_destroyed;
  {
    TypeParam domain;
    retire(*::new (never_destroyed.data()) participant(domain.join()), 100);
  }
  this->expect_live(100);
}
#endif

TYPED_TEST(reclaim, retires_more_in_one_guard_while_memory_lasts) {
  constexpr std::uint64_t nodes = 10 * retires_per_guard;
  {
    TypeParam domain;
    auto me = domain.join();
    auto guard = me.pin();
    for (std::uint64_t i = 0; i < nodes; ++i) guard.retire(new node);
  }
  this->expect_live(nodes);
}

// A thread that stopped inside a guard, as far as the others can tell.
TEST(stalled, makes_epochs_hold_all_that_is_retired_from_the_next_epoch_on) {
  epochs domain;
  auto me = domain.join();
  {
    auto stalled = domain.join();
    auto guard = stalled.pin();
    retire(me, 10 * many);
    EXPECT_EQ(domain.unfreed(), 10 * many);
  }
  retire(me, 11 * many);
  EXPECT_LT(domain.unfreed(), many);
}

// All but one of as many participants as there are records retire, while that one keeps as many
// nodes as it can.
TEST(stalled, makes_hazard_pointers_hold_what_they_promise_at_most) {
  constexpr std::uint64_t records = 16;
  constexpr std::uint64_t most_of_one = 2 * slots * records + 256;
  hazard_pointers domain;
  std::vector<hazard_pointers::participant> writers;
  for (std::uint64_t i = 0; i + 1 < records; ++i) writers.push_back(domain.join());
  auto stalled = domain.join();
  auto guard = stalled.pin();
  std::array<atomic<node*>, slots> roots;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    roots[slot].store(new node);
    guard.protect(slot, roots[slot]);
  }
  for (std::size_t slot = 0; slot < slots; ++slot) {
    writers[slot].pin().retire(roots[slot].exchange(nullptr));
  }
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < many; ++i) {
    for (auto& each : writers) retire(each, 1);
    most = std::max(most, domain.unfreed());
  }
  EXPECT_LE(most, writers.size() * most_of_one);
  EXPECT_GT(most, writers.size() * most_of_one / 2);  // that is how large the promise has to be
  EXPECT_GE(domain.unfreed(), slots);
}

TEST(default_domain, has_a_participant_for_each_thread_which_leaves_with_it) {
  node::live = 0;
  epochs::participant* const mine = &default_participant();
  EXPECT_EQ(&default_participant(), mine);
  EXPECT_EQ(&default_domain(), &default_domain());
  std::thread([mine] {
    EXPECT_NE(&default_participant(), mine);
    retire(default_participant(), 100);
    EXPECT_EQ(node::live, 100U);
  }).join();
  const auto outer = [] {
    auto guard = default_participant().pin_to_read();
    const auto inner = default_participant().pin();
  };
  outer();
  default_domain().free_all();
  EXPECT_EQ(node::live, 0U);
}

// Two epochs are not enough: the reader of a node may be pinned an epoch later than the thread that
// retires it.
template <std::size_t number>
struct look_always : epochs_settings {
  static constexpr std::int32_t period = 1;
  static constexpr std::size_t bags = number;
};
template <std::size_t bags>
bool node_retired_at_an_earlier_epoch_stays() {
  using domain_type = basic_epochs<look_always<bags>>;
  bool freed = false;
  domain_type domain;
  atomic<node*> root{new node};
  root.load()->tell(freed);
  auto writer = domain.join();
  auto reader = domain.join();
  auto other = domain.join();
  retire(other, 1);  // gives it a reason to advance the epoch

  // The heap, because these guards do not end in reverse order.
  const auto pin = [](auto& participant) {
    return std::unique_ptr<typename domain_type::guard>(
        new typename domain_type::guard(participant.pin()));
  };
  auto writing = pin(writer);
  other.pin();  // advances the epoch
  const auto reading = pin(reader);
  reading->protect(0, root);
  writing->retire(root.exchange(nullptr));
  writing.reset();
  for (int i = 0; i < 10; ++i) writer.pin();
  return !freed;
}
TEST(epochs, keep_a_node_retired_at_an_earlier_epoch_than_its_readers) {
  EXPECT_TRUE(node_retired_at_an_earlier_epoch_stays<3>());
}
TEST(reclaim_tests, notice_a_node_freed_one_epoch_early) {
  EXPECT_FALSE(node_retired_at_an_earlier_epoch_stays<2>());
}

// Readers and writers of a few shared pointers, more threads than processors, preempted inside
// guards.
template <class P>
void stress(std::uint64_t operations) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  constexpr int threads = 8;
  std::atomic<std::uint64_t> spoilt{0};
  {
    P domain;
    std::array<atomic<node*>, 16> roots;
    for (atomic<node*>& root : roots) root.store(new node(1), std::memory_order_release);

    std::vector<std::thread> crew;
    for (int t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        std::mt19937_64 draw(seed + static_cast<std::uint64_t>(t));
        std::optional<typename P::participant> me(domain.join());
        auto within = domain.join();  // for guards within guards
        for (std::uint64_t i = 0; i < operations; ++i) {
          const std::uint64_t drawn = draw();
          if (drawn % 1000 == 0) me.emplace(domain.join());
          atomic<node*>& root = roots[drawn / 1000 % roots.size()];
          const bool yields = (drawn >> 32) % 64 == 0;
          if ((drawn >> 40) % 2 == 0) {
            auto guard = me->pin_to_read();
            const node* const found = guard.protect((drawn >> 48) % slots, root);
            if (yields) {
              auto inner = within.pin();
              inner.protect(0, root);
              inner.retire(root.exchange(new node(drawn), std::memory_order_acq_rel));
              std::this_thread::yield();
            }
            if (!found->intact()) ++spoilt;
          } else {
            auto guard = me->pin();
            node* const old = root.exchange(new node(drawn), std::memory_order_acq_rel);
            if (yields) std::this_thread::yield();
            guard.retire(old);
          }
        }
      });
    }
    for (std::thread& thread : crew) thread.join();
    for (const atomic<node*>& root : roots) delete root.load(std::memory_order_acquire);
  }
  EXPECT_EQ(spoilt, 0U);
}

TYPED_TEST(reclaim, protects_under_stress) {
  stress<TypeParam>(20'000);
  if (frees<TypeParam>) {
    EXPECT_EQ(node::live, 0U);
  }
}

struct hurried_garbage_sets : garbage_sets_settings {
  static constexpr std::size_t nodes_of_a_set = 1;
  static constexpr std::size_t records_per_chunk = 1;
};
TEST(stress, of_garbage_sets_that_are_full_at_once) {
  stress<basic_garbage_sets<hurried_garbage_sets>>(10'000);
}

struct hurried_hazard_pointers : hazard_pointers_settings {
  static constexpr std::size_t nodes_between_scans = 1;
  static constexpr std::size_t records_per_chunk = 1;
};
TEST(stress, of_epochs_that_are_advanced_as_often_as_can_be) {
  stress<basic_epochs<look_always<3>>>(10'000);
}
TEST(stress, of_hazard_pointers_that_are_scanned_as_often_as_can_be) {
  stress<basic_hazard_pointers<hurried_hazard_pointers>>(10'000);
}

#if ASSAY_CHECKS
template <class P>
class misuse : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
TYPED_TEST_SUITE(misuse, policies);

TYPED_TEST(misuse, by_another_thread) {
  TypeParam domain;
  auto me = domain.join();
  EXPECT_DEATH(
      std::thread([&me] { me.pin(); }).join(),
      "assay: a handle or participant is used by another thread than the one that made it");
}
TYPED_TEST(misuse, by_a_thread_to_which_the_system_gives_the_same_identifier) {
  TypeParam domain;
  std::optional<typename TypeParam::participant> theirs;
  std::thread([&] { theirs.emplace(domain.join()); }).join();
  EXPECT_DEATH(
      std::thread([&theirs] { theirs->pin(); }).join(),
      "assay: a handle or participant is used by another thread than the one that made it");
}
TYPED_TEST(misuse, after_a_move) {
  TypeParam domain;
  auto me = domain.join();
  const auto moved = std::move(me);
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): that is the mistake
  EXPECT_DEATH(me.pin(), "assay: a handle or participant is used after it was moved from");
}
TYPED_TEST(misuse, by_two_guards_where_they_do_not_nest) {
  TypeParam domain;
  auto me = domain.join();
  if (TypeParam::nests) me.forbid_nesting();
  constexpr const char* message = "assay: .* a participant opens a second guard";
  {
    auto guard = me.pin();
    EXPECT_DEATH(me.pin(), message);
    EXPECT_DEATH(me.pin_to_read(), message);
  }
  auto guard = me.pin_to_read();
  EXPECT_DEATH(me.pin(), message);
}
TYPED_TEST(misuse, of_a_handle_made_by_join_without_nesting) {
  TypeParam domain;
  auto me = join_without_nesting(domain);
  auto guard = me.pin();
  EXPECT_DEATH(me.pin(), "assay: .* a participant opens a second guard");
}
TYPED_TEST(misuse, leaving_inside_a_guard) {
  TypeParam domain;
  auto me = std::make_optional(domain.join());
  auto guard = me->pin();
  EXPECT_DEATH(me.reset(), "assay: a handle or participant is destroyed during a call to it");
}
TYPED_TEST(misuse, freeing_all_inside_a_guard) {
  TypeParam domain;
  auto me = domain.join();
  auto guard = me.pin();
  EXPECT_DEATH(domain.free_all(),
               "assay: .* free_all.* is called during another call, or while a guard is open");
}
TYPED_TEST(misuse, outliving_the_domain) {
  auto domain = std::make_unique<TypeParam>();
  auto me = domain->join();
  EXPECT_DEATH(
      {
        domain.reset();
        std::_Exit(0);  // with `me` left undestroyed
      },
      "assay: a map or domain is destroyed before its handles or participants are");
}
TYPED_TEST(misuse, retiring_null) {
  TypeParam domain;
  auto me = domain.join();
  auto guard = me.pin();
  EXPECT_DEATH(guard.retire(static_cast<node*>(nullptr)),
               "assay: retire.* is given a null pointer");
}
TEST(misuse_of_hazard_pointers, by_a_slot_that_does_not_exist) {
  hazard_pointers domain;
  auto me = domain.join();
  auto guard = me.pin();
  const atomic<node*> root{nullptr};
  EXPECT_DEATH(guard.protect(slots, root), "assay: protect.* is given a slot that does not");
}
#endif

}  // namespace
}  // namespace assay::reclaim
