// A map of any type behind the interface of any_map.h, and the one loop that measures it.
//
// Everything that a trial does (threads, clocks, prefill, validation) is ordinary code; only
// `perform`, the loop over one batch, is compiled for each map, and calls the map's operations
// directly.

#ifndef ASSAY_SUBJECT_ERASED_MAP_H_
#define ASSAY_SUBJECT_ERASED_MAP_H_

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "assay/maps/concept.h"
#include "assay/maps/invariant.h"
#include "assay/subject/any_map.h"
#include "assay/subject/operations.h"
#include "assay/subject/tally.h"
#include "assay/subject/type_spec.h"
#include "assay/subject/witness.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/options.h"

namespace assay::subject {

// Whether a handle has an operation that maps/concept.h describes.
template <class Handle, class K, class V>
[[nodiscard]] constexpr bool offers(workload::operation kind) {
  switch (kind) {
    case workload::operation::range:
      return offers_range<Handle, K, V>;
    case workload::operation::size:
      return offers_size<Handle>;
    case workload::operation::snapshot:
      return offers_snapshot<Handle, K, V>;
    case workload::operation::iterate:
      return offers_iterate<Handle, K, V>;
    default:
      return true;
  }
}

// Ends a visit that would begin again after the end of a trial: it might do so forever.
struct visit_given_up {};

// What the measured loop gives a map to call with elements: counts them and looks for some that
// should not be there. A look at the values is part of the fold `sum` alone.
template <class K, class V>
class measured_visit {
 public:
  struct state {
    std::uint64_t first;  // the least key that may come next
    std::uint64_t last;
    bool ascending;
    workload::fold fold;
    std::uint64_t salt;
    value_layout bits;
    const codec<K>& keys;
    const value_codec<V>& values;
    const std::stop_token& stop;

    std::uint64_t begin = first;
    std::uint64_t visited = 0;
    std::uint64_t wrong = 0;
    std::uint64_t wrong_key = 0;  // one that is wrong
    std::uint64_t folded = 0;
  };

  explicit measured_visit(state& sums) : sums_(&sums) {}

  void operator()(const K& key, const V& value) const {
    const std::uint64_t rank = sums_->keys.rank(key);
    ++sums_->visited;
    if (rank < sums_->first || rank > sums_->last) {
      count_wrong(rank);
    } else if (sums_->ascending) {
      sums_->first = rank + 1;
    }
    if (sums_->fold == workload::fold::sum) {
      const std::uint64_t number = value_of(rank, sums_->salt);
      if (sums_->values.differs(value, number, sums_->bits)) count_wrong(rank);
      sums_->folded += number;
    }
  }

  void begin_again() const {
    if (sums_->stop.stop_requested()) throw visit_given_up();
    sums_->first = sums_->begin;
    sums_->visited = sums_->wrong = sums_->folded = 0;
  }

 private:
  void count_wrong(std::uint64_t rank) const {
    ++sums_->wrong;
    sums_->wrong_key = rank;
  }

  state* sums_;
};

// What a single question gives a map to call with elements: passes them on in numbers.
template <class K, class V>
class visit_in_numbers {
 public:
  visit_in_numbers(const translator<K, V>& translate, const visitor& each,
                   const std::function<void()>& begin_again)
      : translate_(&translate), each_(&each), begin_again_(&begin_again) {}

  void operator()(const K& key, const V& value) const {
    (*each_)(translate_->key.decode(key), translate_->value.decode(value));
  }
  void begin_again() const { (*begin_again_)(); }

 private:
  const translator<K, V>* translate_;
  const visitor* each_;
  const std::function<void()>* begin_again_;
};

// Calls what visits of `handle`: a range, a snapshot, an iteration, or one of `More`.
template <class K, class V, class More, class Handle, class Visit>
void visit_by(workload::operation kind, Handle& handle, translator<K, V>& translate,
              std::uint64_t first, std::uint64_t last, Visit visit) {
  using workload::operation;
  if (kind > operation::iterate) {
    const in_numbers<Handle, K, V> map{handle, translate};
    if (visit_extra<More>(map, {.kind = kind, .key = first, .last = last}, visit)) return;
  }
  if constexpr (offers_range<Handle, K, V>) {
    if (kind == operation::range) {
      return handle.range(translate.key.encode(first), translate.last_key.encode(last), visit);
    }
  }
  if constexpr (offers_snapshot<Handle, K, V>) {
    if (kind == operation::snapshot) return handle.snapshot(visit);
  }
  if constexpr (offers_iterate<Handle, K, V>) {
    if (kind == operation::iterate) return handle.iterate(visit);
  }
  throw std::logic_error("the map does not offer this operation");
}

template <class Handle>
std::uint64_t size_by(Handle& handle) {
  if constexpr (offers_size<Handle>) {
    return static_cast<std::uint64_t>(handle.size());
  } else {
    throw std::logic_error("the map does not offer this operation");
  }
}

// What a search found under `key`, if it may be wrong or is to be remembered. Says whether it is
// wrong.
template <class V>
[[gnu::noinline]] bool look_at(const V& value, const value_codec<V>& values, std::uint64_t key,
                               std::uint64_t hash, const value_layout& bits, witness* seen) {
  const bool is_wrong = values.differs(value, hash, bits);
  if (seen != nullptr) {
    const std::uint64_t number = values.decode(value);
    if (is_wrong) {
      seen->found_wrong(key, number);
    } else {
      seen->found(key, hash, number);
    }
  }
  return is_wrong;
}

// The same of what an operation by name found, whose value is a number already.
template <class V>
bool look_at_number(std::uint64_t value, const value_codec<V>& values, std::uint64_t key,
                    const value_numbers& numbers, witness* seen) {
  const std::uint64_t hash = numbers.hash(key);
  const bool is_wrong = numbers.bits.rest == 0
                            ? value != values.kept(hash & numbers.bits.check)
                            : value == 0 || !is_checked(value, hash, numbers.bits);
  if (seen != nullptr && is_wrong) seen->found_wrong(key, value);
  if (seen != nullptr && !is_wrong && numbers.watches(hash)) seen->found(key, hash, value);
  return is_wrong;
}

// Performs one of a handle's further operations, and adds to `sums` what its answer says.
template <class K, class V, class More, class Handle>
void perform_extra(Handle& handle, translator<K, V>& translate, const question& asked,
                   const value_numbers& numbers, witness* seen, tally& sums) {
  static const extra_calls<Handle, K, V> calls{More()};
  const auto kind = static_cast<std::size_t>(asked.kind);
  const auto call = calls.by_number.at(kind);
  if (call == nullptr) throw std::logic_error("the map does not offer this operation");
  const operation_outcome came = call(in_numbers<Handle, K, V>{handle, translate}, asked);
  ++sums.attempted[kind];
  sums.succeeded[kind] += came.succeeded;
  sums.wrong_values += came.wrong;
  if (came.seen) {
    const auto [key, value] = *came.seen;
    sums.wrong_values += look_at_number(value, translate.value, key, numbers, seen);
  }
  if (came.change == 0) return;
  const std::uint64_t hash = numbers.hash(asked.key);
  sums.extra_held += came.change;
  const auto times = static_cast<std::uint64_t>(std::int64_t{came.change});  // wraps, as sums do
  sums.key_sum += times * asked.key;
  sums.pair_sum += times * key_term(hash);
  if (seen == nullptr || !numbers.watches(hash)) return;
  if (came.change > 0) {
    seen->inserted(asked.key, hash, asked.value);
  } else {
    for (int left = came.change; left < 0; ++left) seen->erased(asked.key, hash);
  }
}

// One operation of the trial loop other than insert, erase and find, for which the value `drawn`
// was drawn. Out of line, so that the loop over those three keeps its registers. Says whether it
// finished.
template <class K, class V, class More, class Handle>
[[gnu::noinline]] bool perform_rare(Handle& handle, translator<K, V>& translate,
                                    workload::operation kind, std::uint64_t first,
                                    std::uint64_t last, std::uint64_t drawn,
                                    const value_numbers& numbers, const task& task, tally& sums) {
  using workload::operation;
  if (kind > operation::iterate && !extra_facts_of(kind).visits) {
    const std::uint64_t end = workload::facts_of(kind).spans ? last : first;
    perform_extra<K, V, More>(handle, translate,
                              {.kind = kind, .key = first, .value = drawn, .last = end}, numbers,
                              task.seen, sums);
    return true;
  }
  if (kind == operation::size) {
    sums.folded += size_by(handle);
  } else {
    const bool spans = workload::facts_of(kind).spans;
    typename measured_visit<K, V>::state visited{
        .first = spans ? translate.key.kept(first) : 1,
        .last = spans ? translate.key.kept(last) : UINT64_MAX,
        .ascending = spans,
        .fold = task.fold,
        .salt = numbers.salt,
        .bits = numbers.bits,
        .keys = translate.key,
        .values = translate.value,
        .stop = task.stop};
    try {
      visit_by<K, V, More>(kind, handle, translate, first, last, measured_visit<K, V>(visited));
    } catch (const visit_given_up&) {
      ++sums.unfinished[static_cast<std::size_t>(kind)];
      return false;
    }
    sums.visited += visited.visited;
    sums.wrong_visits += visited.wrong;
    if (visited.wrong > 0 && task.seen != nullptr) task.seen->visited_wrong(visited.wrong_key);
    sums.folded += visited.folded;
  }
  ++sums.attempted[static_cast<std::size_t>(kind)];
  ++sums.succeeded[static_cast<std::size_t>(kind)];
  return true;
}

// The one trial loop, over one batch. Local sums keep the counts in registers: the compiler cannot
// know that the map does not touch `sums`. It begins on a cache line in every program, for every
// map: where it stood by chance made it up to 1.3 times as slow over a map that does nothing.
//
// `More` are the operations of operations.h that the handle may have.
template <class K, class V, class More = detail::assays_own, class Handle>
[[gnu::noinline, gnu::aligned(64)]] progress perform(Handle& handle, translator<K, V>& translate,
                                                     const workload::operation_batch& batch,
                                                     std::size_t first, std::size_t last,
                                                     const task& task, tally& sums) {
  using workload::operation;
  constexpr bool offers_more = offers_range<Handle, K, V> || offers_size<Handle> ||
                               offers_snapshot<Handle, K, V> || offers_iterate<Handle, K, V> ||
                               offers_any<Handle, K, V>(More());

  std::uint64_t inserts = 0, inserted = 0, erases = 0, erased = 0, found = 0, wrong = 0, rare = 0;
  std::uint64_t key_sum = 0, pair_sum = 0;
  progress done{.performed = 0, .gave_up = false};
  value_numbers numbers =
      task.seen == nullptr ? value_numbers{.salt = task.salt} : task.seen->begin_batch();

  // Costs nothing for a search that found nothing. It takes a reference: gcc 12 keeps an answer
  // that has a name in memory, for 9 instructions more.
  const auto take_note = [&](const std::optional<V>& sought, std::uint64_t key) {
    if (!sought) return;
    ++found;
    const std::uint64_t hash = numbers.hash(key);
    if (translate.value.differs(*sought, hash, numbers.bits) || numbers.watches(hash))
        [[unlikely]] {
      wrong += look_at<V>(*sought, translate.value, key, hash, numbers.bits, task.seen);
    }
  };

  for (std::size_t i = first; i < last; ++i, ++done.performed) {
    const std::uint64_t key = batch.keys[i];
    // Searches are looked for first: they are most of the operations where the loop's own cost
    // matters most.
    if (const operation kind = batch.kinds[i]; kind == operation::find) {
      take_note(handle.find(translate.key.encode(key)), key);
    } else if (kind == operation::insert) {
      ++inserts;
      const std::uint64_t hash = numbers.hash(key);
      const std::uint64_t value = numbers.draw(hash);
      if (handle.insert(translate.key.encode(key), translate.value.encode(value))) {
        ++inserted;
        key_sum += key;
        pair_sum += key_term(hash);
        if (numbers.watches(hash)) [[unlikely]]
          task.seen->inserted(key, hash, value);
      }
    } else if (!offers_more || kind == operation::erase) {
      assert(kind == operation::erase);
      ++erases;
      if (handle.erase(translate.key.encode(key))) {
        ++erased;
        const std::uint64_t hash = numbers.hash(key);
        key_sum -= key;
        pair_sum -= key_term(hash);
        if (numbers.watches(hash)) [[unlikely]]
          task.seen->erased(key, hash);
      }
    } else [[unlikely]] {
      if (task.stop.stop_requested()) break;
      const std::uint64_t drawn = numbers.draw(numbers.hash(key));
      done.gave_up = !perform_rare<K, V, More>(handle, translate, kind, key, batch.last_keys[i],
                                               drawn, value_numbers(numbers), task, sums);
      if (done.gave_up) break;
      ++rare;
    }
  }

  if (task.seen != nullptr) task.seen->end_batch(numbers);
  sums.attempted[0] += inserts;
  sums.attempted[1] += erases;
  sums.attempted[2] += done.performed - inserts - erases - rare;
  sums.succeeded[0] += inserted;
  sums.succeeded[1] += erased;
  sums.succeeded[2] += found;
  sums.key_sum += key_sum;
  sums.pair_sum += pair_sum;
  sums.wrong_values += wrong;
  return done;
}

// Whether there is the loop. Without it, which is less to compile, `perform` throws
// std::logic_error: for tests of the map's answers.
enum class loops : std::uint8_t { one, none };

template <class Map, class K = std::uint64_t, class V = std::uint64_t, loops Loops = loops::one>
  requires concurrent_map<Map, K, V>
class erased_map final : public any_map {
 public:
  explicit erased_map(const map_hints& hints)
    requires std::constructible_from<Map, map_hints>
      : key_(hints.key), value_(hints.value), map_(hints) {}
  explicit erased_map(const map_hints& hints)
    requires(!std::constructible_from<Map, map_hints>)
      : key_(hints.key), value_(hints.value) {}

  std::unique_ptr<any_handle> attach() override {
    return std::make_unique<handle>(map_, key_, value_);
  }

  void for_each(const visitor& visit) override {
    const translator<K, V> translate(key_, value_);
    map_.for_each([&](const K& key, const V& value) {
      visit(translate.key.decode(key), translate.value.decode(value));
    });
  }

  std::optional<std::string> broken_invariant() override {
    return assay::broken_invariant<K>(map_);
  }

  assay::shape shape() override { return shape_of(map_); }

 private:
  using handle_type = decltype(std::declval<Map&>().attach());

  class alignas(workload::interference_bytes) handle final : public any_handle {
   public:
    handle(Map& map, const type_spec& key, const type_spec& value)
        : handle_(map.attach()), translate_(key, value) {}

    progress perform(const workload::operation_batch& batch, std::size_t first, std::size_t last,
                     const task& task, tally& sums) override {
      if constexpr (Loops == loops::one) {
        return subject::perform<K, V, operations_of<Map>>(handle_, translate_, batch, first, last,
                                                          task, sums);
      } else {
        throw not_offered();
      }
    }

    // Compiled for size: a subject has up to nine of these.
    [[gnu::cold]] answer ask(const question& asked) override {
      using workload::operation;
      switch (asked.kind) {
        case operation::insert:
          return handle_.insert(translate_.key.encode(asked.key),
                                translate_.value.encode(asked.value));
        case operation::erase:
          return handle_.erase(translate_.key.encode(asked.key));
        case operation::find: {
          const std::optional<V> found = handle_.find(translate_.key.encode(asked.key));
          return found ? std::optional(translate_.value.decode(*found)) : std::nullopt;
        }
        case operation::size:
          return size_by(handle_);
        case operation::range:
        case operation::snapshot:
        case operation::iterate:
          return visited(asked);
        default: {
          if (extra_facts_of(asked.kind).visits) return visited(asked);
          const in_numbers<handle_type, K, V> map{handle_, translate_};
          answer answered;
          if (!ask_extra<operations_of<Map>>(map, asked, answered)) throw not_offered();
          return answered;
        }
      }
    }

    [[gnu::cold]] void visit(const question& asked, const visitor& each,
                             const std::function<void()>& begin_again) override {
      visit_by<K, V, operations_of<Map>>(asked.kind, handle_, translate_, asked.key, asked.last,
                                         visit_in_numbers<K, V>(translate_, each, begin_again));
    }

   private:
    std::vector<element> visited(const question& asked) {
      std::vector<element> met;
      visit(
          asked, [&](std::uint64_t key, std::uint64_t value) { met.emplace_back(key, value); },
          [&] { met.clear(); });
      return met;
    }

    handle_type handle_;
    translator<K, V> translate_;
  };

  type_spec key_;
  type_spec value_;
  Map map_;
};

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_ERASED_MAP_H_
