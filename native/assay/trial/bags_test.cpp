// Trials of multimaps and queues: correct ones are valid, and what each wrong one does is noticed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/subject/subject.h"
#include "assay/trial/request.h"
#include "assay/trial/run.h"
#include "tests/test_bags.h"

namespace assay::trial {
namespace {

using subject::correct_multimap;
using subject::correct_queue;
using subject::sound_multimap;
using subject::sound_queue;
using subject::test_bag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- Trials --------------------------------------------------------------------------------------

request short_request(const workload::mix& mix) {
  return {.subject = "test",
          .seed = 5,
          .pinning = {},
          .key_range = 20'000,
          .keys = workload::key_layout::dense,
          .roles = one_role(2, mix),
          .duration = std::chrono::milliseconds(10),
          .interval = std::chrono::milliseconds(2)};
}
const workload::mix for_multimaps{30, 30, 40};
const workload::mix for_queues{50, 50, 0};

template <template <class, class> class Bag>
subject::subject_entry described() {
  return subject::describe_bag<Bag, std::uint64_t, std::uint32_t>("test", "a test's bag");
}
template <template <class, class> class Bag>
result run_with(const request& request) {
  return run(request, described<Bag>());
}
template <template <class, class> class Bag>
result run_with() {
  const auto entry = described<Bag>();
  return run(
      short_request(entry.structure == subject::structure::queue ? for_queues : for_multimaps),
      entry);
}

std::string problems_of(const result& result) {
  return std::accumulate(result.problems.begin(), result.problems.end(), std::string());
}

TEST(run, of_a_correct_multimap_or_queue_is_valid) {
  using enum subject::type_spec::kind;
  for (const unsigned threads : {1U, 3U}) {
    for (const auto type : {uint64, uint32}) {
      request request = short_request(for_multimaps);
      request.roles[0].threads = threads;
      request.key.type = request.value.type = type;
      for (const auto keys : {workload::key_layout::dense, workload::key_layout::sparse}) {
        request.keys = keys;
        EXPECT_THAT(run_with<correct_multimap>(request).problems, IsEmpty());
      }
      request.keys = workload::key_layout::dense;
      request.roles[0].work.mix = for_queues;
      EXPECT_THAT(run_with<correct_queue>(request).problems, IsEmpty());
    }
  }
}

TEST(run, of_a_multimap_counts_what_it_did) {
  const result result = run_with<correct_multimap>(short_request({50, 20, 30}));
  EXPECT_THAT(result.problems, IsEmpty());
  subject::tally all;
  for (const auto& thread : result.threads) all += thread.operations;
  for (std::size_t kind = 0; kind < 3; ++kind) EXPECT_GT(all.attempted[kind], 0U);
  EXPECT_EQ(all.succeeded[0], all.attempted[0]);
  EXPECT_EQ(all.succeeded[1], all.attempted[1]);  // there are ever more entries
  EXPECT_LE(all.succeeded[2], all.attempted[2]);
}

TEST(prefill, of_a_multimap_or_queue_is_as_many_entries_as_a_map_would_have_keys) {
  const std::vector<std::pair<workload::mix, std::uint64_t>> sizes{
      {{50, 50, 0}, 10'000}, {{10, 30, 60}, 5000}, {{10, 0, 90}, 20'000}, {{0, 10, 90}, 0}};
  for (const auto& [mix, size] : sizes) {
    const result filled = run_with<correct_multimap>(short_request(mix));
    EXPECT_EQ(filled.prefill.method, prefill_method::entries);
    EXPECT_TRUE(filled.prefill.converged);
    EXPECT_EQ(filled.prefill.size, static_cast<std::int64_t>(size));
    EXPECT_EQ(filled.prefill.expected_size, static_cast<double>(size));
    EXPECT_EQ(filled.prefill.operations, size);
  }
  const auto json = to_json(run_with<correct_queue>(), {});
  EXPECT_EQ(json["prefill"]["method"], "entries");
  EXPECT_EQ(json["prefill"]["size"], 10'000);
}

// --- Refusals ------------------------------------------------------------------------------------

std::string refusal_of(const subject::subject_entry& subject, const request& request) {
  try {
    static_cast<void>(run(request, subject));
  } catch (const bad_request& error) {
    return error.what();
  }
  return "";
}

TEST(run, of_a_bag_refuses_what_it_has_not) {
  const auto multimap = described<correct_multimap>();
  EXPECT_EQ(refusal_of(multimap, short_request({20, 20, 50, 10})),
            "mix: test does not offer range, but insert, erase and find");
  request strings = short_request(for_multimaps);
  strings.key.type = subject::type_spec::kind::bytes;
  EXPECT_EQ(refusal_of(multimap, strings),
            "key_type: test holds keys of type uint64 and uint32, not bytes");

  const auto queue = described<correct_queue>();
  EXPECT_EQ(refusal_of(queue, short_request({20, 20, 60})),
            "mix: test does not offer find, but insert and erase");
  request sparse = short_request(for_queues);
  sparse.keys = workload::key_layout::sparse;
  EXPECT_THAT(refusal_of(queue, sparse), HasSubstr("keys: test is a queue"));
}

// --- Validation ----------------------------------------------------------------------------------

template <class K, class V>
struct losing_multimap : test_bag<losing_multimap<K, V>, sound_multimap<K, V>> {
  void insert(K key, V value) {
    const std::scoped_lock lock(this->mutex);
    if (!this->now_and_then()) this->entries.emplace(key, value);
  }
};

template <class K, class V>
struct losing_queue : test_bag<losing_queue<K, V>, sound_queue<K, V>> {
  void push(K key, V value) {
    const std::scoped_lock lock(this->mutex);
    if (!this->now_and_then()) this->entries.emplace(key, value);
  }
};

TEST(validation, finds_entries_that_were_lost) {
  const result multimap = run_with<losing_multimap>();
  EXPECT_LT(multimap.contents_check->found.size, multimap.contents_check->expected.size);
  EXPECT_THAT(problems_of(multimap), HasSubstr("the multimap holds"));
  EXPECT_THAT(problems_of(multimap), HasSubstr("entries, expected"));
  EXPECT_THAT(problems_of(run_with<losing_queue>()), HasSubstr("the queue holds"));
}

// Gives an entry to two threads.
template <class K, class V>
struct repeating_multimap : test_bag<repeating_multimap<K, V>, sound_multimap<K, V>> {
  std::optional<std::pair<K, V>> erase_from(K key) {
    const std::scoped_lock lock(this->mutex);
    const auto first = this->entries.lower_bound({key, 0});
    const auto taken = this->take(first);
    if (taken && this->now_and_then()) this->entries.insert(*taken);
    return taken;
  }
};

template <class K, class V>
struct repeating_queue : test_bag<repeating_queue<K, V>, sound_queue<K, V>> {
  std::optional<std::pair<K, V>> try_pop() {
    const std::scoped_lock lock(this->mutex);
    const auto taken = this->take(this->entries.begin());
    if (taken && this->now_and_then()) this->entries.insert(*taken);
    return taken;
  }
};

TEST(validation, finds_entries_that_were_returned_twice) {
  const result multimap = run_with<repeating_multimap>();
  EXPECT_GT(multimap.contents_check->found.size, multimap.contents_check->expected.size);
  EXPECT_THAT(problems_of(multimap), HasSubstr("entries, expected"));
  EXPECT_THAT(problems_of(run_with<repeating_queue>()), HasSubstr("entries, expected"));
}

// Returns what nobody inserted, and takes out something else.
template <class K, class V>
struct inventing_queue : test_bag<inventing_queue<K, V>, sound_queue<K, V>> {
  std::optional<std::pair<K, V>> try_pop() {
    const std::scoped_lock lock(this->mutex);
    auto taken = this->take(this->entries.begin());
    if (taken && this->now_and_then()) ++taken->first;
    return taken;
  }
};

// Returns another value of the key than the one that it takes out.
template <class K, class V>
struct mixing_queue : test_bag<mixing_queue<K, V>, sound_queue<K, V>> {
  std::optional<std::pair<K, V>> try_pop() {
    const std::scoped_lock lock(this->mutex);
    auto taken = this->take(this->entries.begin());
    if (taken && this->now_and_then()) ++taken->second;
    return taken;
  }
};

TEST(validation, finds_entries_that_were_made_up) {
  EXPECT_THAT(problems_of(run_with<inventing_queue>()),
              HasSubstr("entries as expected, but different ones: the sum of the keys is"));
  EXPECT_THAT(problems_of(run_with<mixing_queue>()), HasSubstr("pairs of key and value differ"));
}

// Exchanges the values of its first and its last entry as it is walked through.
template <class K, class V>
struct swapping_multimap : test_bag<swapping_multimap<K, V>, sound_multimap<K, V>> {
  template <class Visit>
  void for_each(Visit&& visit) {
    auto first = *this->take(this->entries.begin());
    auto last = *this->take(std::prev(this->entries.end()));
    std::swap(first.second, last.second);
    this->entries.insert({first, last});
    sound_multimap<K, V>::for_each(visit);
  }
};

TEST(validation, finds_values_that_were_swapped) {
  EXPECT_THAT(problems_of(run_with<swapping_multimap>()),
              HasSubstr("pairs of key and value differ"));
}

template <class K, class V>
struct doubling_multimap : test_bag<doubling_multimap<K, V>, sound_multimap<K, V>> {
  void insert(K key, V value) {
    sound_multimap<K, V>::insert(key, value);
    const std::scoped_lock lock(this->mutex);
    if (this->now_and_then()) this->entries.emplace(key, value);
  }
};

// Walks through its first entry twice and leaves out its last.
template <class K, class V>
struct stuttering_queue : test_bag<stuttering_queue<K, V>, sound_queue<K, V>> {
  template <class Visit>
  void for_each(Visit&& visit) {
    if (this->entries.size() < 2) return;
    visit(this->entries.begin()->first, this->entries.begin()->second);
    const auto last = *std::prev(this->entries.end());
    this->entries.erase(last);
    sound_queue<K, V>::for_each(visit);
    this->entries.insert(last);
  }
};

TEST(validation, finds_entries_that_are_held_twice) {
  const result twice = run_with<doubling_multimap>();
  EXPECT_GT(twice.contents_check->duplicate_keys.number, 0U);
  EXPECT_THAT(problems_of(twice), HasSubstr("entries that it had met before"));
  const request many = short_request({60, 40, 0});
  EXPECT_EQ(run_with<stuttering_queue>(many).contents_check->duplicate_keys.number, 1U);
}

template <class K, class V>
struct shifting_multimap : test_bag<shifting_multimap<K, V>, sound_multimap<K, V>> {
  void insert(K key, V value) { sound_multimap<K, V>::insert(key + 20'000, value); }
};

TEST(validation, finds_keys_that_nobody_inserted_into_a_multimap) {
  EXPECT_THAT(problems_of(run_with<shifting_multimap>()),
              HasSubstr("keys that no operation ever drew"));
}

template <class K, class V>
struct blind_multimap : test_bag<blind_multimap<K, V>, sound_multimap<K, V>> {
  std::optional<V> find(K) { return std::nullopt; }
};
template <class K, class V>
struct guessing_multimap : test_bag<guessing_multimap<K, V>, sound_multimap<K, V>> {
  std::optional<V> find(K key) { return sound_multimap<K, V>::find(key).value_or(V{0}); }
};
template <class K, class V>
struct garbling_multimap : test_bag<garbling_multimap<K, V>, sound_multimap<K, V>> {
  std::optional<V> find(K key) {
    const auto found = sound_multimap<K, V>::find(key);
    return found ? std::optional(static_cast<V>(*found ^ (V{1} << 31U))) : std::nullopt;
  }
};

TEST(validation, finds_searches_of_a_multimap_that_differ_from_the_walk) {
  const auto blind = run_with<blind_multimap>();
  EXPECT_GT(blind.contents_check->missed_searches.number, 0U);
  EXPECT_THAT(blind.problems, ElementsAre(HasSubstr("that the multimap holds found nothing")));
  const auto guessing = run_with<guessing_multimap>();
  EXPECT_GT(guessing.contents_check->phantom_searches.number, 0U);
  EXPECT_THAT(guessing.problems, ElementsAre(HasSubstr("that the multimap does not hold")));
  const auto garbling = run_with<garbling_multimap>();
  EXPECT_GT(garbling.contents_check->wrong_values.number, 0U);
  EXPECT_THAT(garbling.problems, ElementsAre(HasSubstr("a value other than the key's")));
}

template <class K, class V>
struct endless_queue : test_bag<endless_queue<K, V>, sound_queue<K, V>> {
  template <class Visit>
  void for_each(Visit&& visit) {
    for (;;) visit(1, 1);
  }
};

TEST(validation, gives_up_a_walk_through_a_queue_without_end) {
  EXPECT_THAT(run_with<endless_queue>().problems,
              ElementsAre(HasSubstr("a walk through the queue did not end")));
}

template <class K, class V>
struct ailing_queue : test_bag<ailing_queue<K, V>, sound_queue<K, V>> {
  [[nodiscard]] std::optional<std::string> broken_invariant() const { return "it creaks"; }
};

TEST(validation, asks_bags_for_broken_invariants) {
  EXPECT_THAT(run_with<ailing_queue>().problems,
              ElementsAre("an invariant of the queue is broken: it creaks"));
}

}  // namespace
}  // namespace assay::trial
