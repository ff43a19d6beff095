// A map of any type as the trial sees it, and the one loop that operates on it.
//
// Everything that a trial does (threads, clocks, prefill, validation) is ordinary code behind two
// small interfaces; only `perform`, the loop over one batch, is compiled for each map, and calls
// the map's operations directly. One virtual call a batch costs nothing that can be measured.

#ifndef ASSAY_TRIAL_MEASURED_MAP_H_
#define ASSAY_TRIAL_MEASURED_MAP_H_

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

#include "assay/maps/concept.h"
#include "assay/maps/invariant.h"
#include "assay/trial/datum.h"
#include "assay/trial/tally.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/options.h"

namespace assay::trial {

// What is known of a trial before its map is built, for maps that must be given a size.
struct map_hints {
  std::uint64_t key_range;
  unsigned threads;
  datum key{};
  datum value{};
};

// What a subject is. Of a multimap or a queue, measured_bag.h says what the operations do.
enum class structure { map, multimap, queue };

// What all operations of a thread have in common.
struct task {
  std::uint64_t salt = 0;                       // of the values stored, see value_of
  workload::fold fold = workload::fold::count;  // what is done with elements visited
  std::stop_token stop{};
};

// How far a batch came.
struct progress {
  std::size_t performed;  // operations that returned
  bool gave_up;           // the next one gave up because a stop was requested
};

// What a range, a size, a snapshot or an iteration of a map at rest came to.
struct observation {
  workload::operation by;
  contents found{};       // a size has no sums
  bool ended = true;      // false: given up after more elements than there can be
  bool ascending = true;  // in the order of their keys, each of which is another
};

// A thread's way into the map under measurement. Used and destroyed by the thread that attached it.
class attached_handle {
 public:
  attached_handle() = default;
  attached_handle(const attached_handle&) = delete;
  attached_handle& operator=(const attached_handle&) = delete;
  virtual ~attached_handle() = default;

  // Performs the operations `first` to `last` - 1 of `batch` in order, storing
  // `value_of(key, salt)` under a key, and adds what came of them to `sums`. Ends early only if the
  // map's operations take a stop token and a stop is requested, or before an operation other than
  // insert, erase and find once a stop is requested. The map must offer all of them.
  virtual progress perform(const workload::operation_batch& batch, std::size_t first,
                           std::size_t last, const task& task, tally& sums) = 0;
};

class measured_map {
 public:
  using visitor = std::function<void(std::uint64_t key, std::uint64_t value)>;

  measured_map() = default;
  measured_map(const measured_map&) = delete;
  measured_map& operator=(const measured_map&) = delete;
  virtual ~measured_map() = default;

  [[nodiscard]] virtual std::unique_ptr<attached_handle> attach() = 0;

  // Visits every element, as the numbers that its key and value stand for, see codec::decode; no
  // handle may be inside a call.
  virtual void for_each(const visitor& visit) = 0;

  // A range from `first` to `last`, or another operation that looks at the whole map, through a
  // handle of its own while no other is inside a call. The map must offer it. A visit is given up
  // after `most` elements.
  virtual observation observe(workload::operation by, std::uint64_t first, std::uint64_t last,
                              std::uint64_t most) = 0;

  // What is wrong with the map at rest, as far as it can tell; see assay/maps/invariant.h.
  [[nodiscard]] virtual std::optional<std::string> broken_invariant() = 0;
};

// Between a thread's numbers and what its map holds.
template <class K, class V>
struct translator {
  explicit translator(const datum& key_type = {}, const datum& value_type = {})
      : key(key_type), last_key(key_type), value(value_type) {}

  codec<K> key;
  codec<K> last_key;  // of a range, beside its first
  codec<V> value;
};

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

// Ends a visit that must be endless.
struct endless_visit {};

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
    const codec<V>& values;

    std::uint64_t begin = first;
    std::uint64_t visited = 0;
    std::uint64_t wrong = 0;
    std::uint64_t folded = 0;
  };

  explicit measured_visit(state& sums) : sums_(&sums) {}

  void operator()(const K& key, const V& value) const {
    const std::uint64_t rank = codec<K>::rank(key);
    ++sums_->visited;
    if (rank < sums_->first || rank > sums_->last) {
      ++sums_->wrong;
    } else if (sums_->ascending) {
      sums_->first = rank + 1;
    }
    if (sums_->fold == workload::fold::sum) {
      const std::uint64_t number = value_of(rank, sums_->salt);
      sums_->wrong += !sums_->values.equals(value, number);
      sums_->folded += number;
    }
  }

  void begin_again() const {
    sums_->first = sums_->begin;
    sums_->visited = sums_->wrong = sums_->folded = 0;
  }

 private:
  state* sums_;
};

// The same for a map at rest: takes note of all that there is.
template <class K, class V>
class thorough_visit {
 public:
  struct state {
    observation& seen;
    std::uint64_t most;
    const translator<K, V>& translate;
    std::uint64_t last_key = 0;
  };

  explicit thorough_visit(state& sums) : sums_(&sums) {}

  void operator()(const K& key, const V& value) const {
    observation& seen = sums_->seen;
    if (std::cmp_equal(seen.found.size, sums_->most)) throw endless_visit();
    const std::uint64_t number = sums_->translate.key.decode(key);
    ++seen.found.size;
    seen.found.key_sum += number;
    seen.found.pair_sum += pair_term(number, sums_->translate.value.decode(value));
    if (number <= sums_->last_key) seen.ascending = false;
    sums_->last_key = number;
  }

  void begin_again() const {
    sums_->seen = {.by = sums_->seen.by};
    sums_->last_key = 0;
  }

 private:
  state* sums_;
};

// Calls a range, a snapshot or an iteration of `handle`, with the stop token if it takes one. Says
// whether it finished.
template <class K, class V, class Handle, class Visit>
bool visit_by(workload::operation kind, Handle& handle, translator<K, V>& translate,
              std::uint64_t first, std::uint64_t last, Visit visit, const std::stop_token& stop) {
  using workload::operation;
  if constexpr (stoppable_range<Handle, K, V>) {
    if (kind == operation::range) {
      return handle.range(translate.key.encode(first), translate.last_key.encode(last), visit,
                          stop);
    }
  } else if constexpr (plain_range<Handle, K, V>) {
    if (kind == operation::range) {
      handle.range(translate.key.encode(first), translate.last_key.encode(last), visit);
      return true;
    }
  }
  if constexpr (stoppable_snapshot<Handle, K, V>) {
    if (kind == operation::snapshot) return handle.snapshot(visit, stop);
  } else if constexpr (plain_snapshot<Handle, K, V>) {
    if (kind == operation::snapshot) return handle.snapshot(visit), true;
  }
  if constexpr (stoppable_iterate<Handle, K, V>) {
    if (kind == operation::iterate) return handle.iterate(visit, stop);
  } else if constexpr (plain_iterate<Handle, K, V>) {
    if (kind == operation::iterate) return handle.iterate(visit), true;
  }
  throw std::logic_error("the map does not offer this operation");
}

// The size that `handle` answers, or nothing if it gave up.
template <class Handle>
std::optional<std::uint64_t> size_by(Handle& handle, const std::stop_token& stop) {
  if constexpr (stoppable_size<Handle>) {
    return handle.size(stop);
  } else if constexpr (plain_size<Handle>) {
    return static_cast<std::uint64_t>(handle.size());
  } else {
    throw std::logic_error("the map does not offer this operation");
  }
}

// One operation of the trial loop other than insert, erase and find. Out of line, so that the loop
// over those three keeps its registers. Says whether it finished.
template <class K, class V, class Handle>
[[gnu::noinline]] bool perform_rare(Handle& handle, translator<K, V>& translate,
                                    workload::operation kind, std::uint64_t first,
                                    std::uint64_t last, const task& task, tally& sums) {
  using workload::operation;
  bool finished = false;
  if (kind == operation::size) {
    const auto answer = size_by(handle, task.stop);
    finished = answer.has_value();
    sums.folded += answer.value_or(0);
  } else {
    const bool range = kind == operation::range;
    typename measured_visit<K, V>::state visited{
        .first = range ? translate.key.kept(first) : 1,
        .last = range ? translate.key.kept(last) : UINT64_MAX,
        .ascending = range,
        .fold = task.fold,
        .salt = task.salt,
        .values = translate.value};
    finished = visit_by<K, V>(kind, handle, translate, first, last, measured_visit<K, V>(visited),
                              task.stop);
    if (finished) {
      sums.visited += visited.visited;
      sums.wrong_visits += visited.wrong;
      sums.folded += visited.folded;
    }
  }
  sums.attempted[static_cast<std::size_t>(kind)] += finished;
  sums.succeeded[static_cast<std::size_t>(kind)] += finished;
  return finished;
}

// The one trial loop, over one batch. Local sums keep the counts in registers: the compiler cannot
// know that the map does not touch `sums`. It begins on a cache line in every program, for every
// map: where it stood by chance made it up to 1.3 times as slow over a map that does nothing.
template <class K, class V, class Handle>
[[gnu::noinline, gnu::aligned(64)]] progress perform(Handle& handle, translator<K, V>& translate,
                                                     const workload::operation_batch& batch,
                                                     std::size_t first, std::size_t last,
                                                     const task& task, tally& sums) {
  using workload::operation;
  constexpr bool stoppable = stoppable_map_handle<Handle, K, V>;
  constexpr bool offers_more = offers_range<Handle, K, V> || offers_size<Handle> ||
                               offers_snapshot<Handle, K, V> || offers_iterate<Handle, K, V>;

  std::uint64_t inserts = 0, inserted = 0, erases = 0, erased = 0, found = 0, wrong = 0, rare = 0;
  std::uint64_t key_sum = 0, pair_sum = 0;
  progress done{.performed = 0, .gave_up = false};

  // Calls an operation, with the stop token if it takes one, and takes note of its answer if it
  // gave one.
  const auto call = [&](auto operate, auto take_note) {
    if constexpr (stoppable) {
      const auto answer = operate(task.stop);
      done.gave_up = !answer;
      if (answer) take_note(*answer);
    } else {
      take_note(operate());
    }
  };

  for (std::size_t i = first; i < last; ++i, ++done.performed) {
    if constexpr (stoppable) {
      if (task.stop.stop_requested()) break;
    }
    const std::uint64_t key = batch.keys[i];
    const std::uint64_t value = value_of(key, task.salt);
    // Searches are looked for first: they are most of the operations where the loop's own cost
    // matters most.
    if (const operation kind = batch.kinds[i]; kind == operation::find) {
      call([&](auto&... token) { return handle.find(translate.key.encode(key), token...); },
           [&](const std::optional<V>& answer) {
             if (!answer) return;
             ++found;
             wrong += !translate.value.equals(*answer, value);
           });
    } else if (kind == operation::insert) {
      call(
          [&](auto&... token) {
            return handle.insert(translate.key.encode(key), translate.value.encode(value),
                                 token...);
          },
          [&](bool succeeded) {
            ++inserts;
            if (!succeeded) return;
            ++inserted;
            key_sum += key;
            pair_sum += pair_term(key, translate.value.kept(value));
          });
    } else if (!offers_more || kind == operation::erase) {
      assert(kind == operation::erase);
      call([&](auto&... token) { return handle.erase(translate.key.encode(key), token...); },
           [&](bool succeeded) {
             ++erases;
             if (!succeeded) return;
             ++erased;
             key_sum -= key;
             pair_sum -= pair_term(key, translate.value.kept(value));
           });
    } else [[unlikely]] {
      if (task.stop.stop_requested()) break;
      done.gave_up =
          !perform_rare<K, V>(handle, translate, kind, key, batch.last_keys[i], task, sums);
      rare += !done.gave_up;
    }
    if (done.gave_up) break;
  }
  if (done.gave_up && !task.stop.stop_requested()) {
    throw std::logic_error("the map gave up an operation although no stop was requested");
  }

  sums.attempted[0] += inserts;
  sums.attempted[1] += erases;
  sums.attempted[2] += done.performed - inserts - erases - rare;
  sums.succeeded[0] += inserted;
  sums.succeeded[1] += erased;
  sums.succeeded[2] += found;
  sums.key_sum += key_sum;
  sums.pair_sum += pair_sum;
  sums.wrong_values += wrong;
  if (done.gave_up)
    ++sums.unfinished[static_cast<std::size_t>(batch.kinds[first + done.performed])];
  return done;
}

// `Map` behind the interface above.
template <class Map, class K = std::uint64_t, class V = std::uint64_t>
  requires concurrent_map<Map, K, V>
class measured final : public measured_map {
 public:
  explicit measured(const map_hints& hints)
    requires std::constructible_from<Map, map_hints>
      : key_(hints.key), value_(hints.value), map_(hints) {}
  explicit measured(const map_hints& hints)
    requires(!std::constructible_from<Map, map_hints>)
      : key_(hints.key), value_(hints.value) {}

  std::unique_ptr<attached_handle> attach() override {
    return std::make_unique<handle>(map_, key_, value_);
  }

  void for_each(const visitor& visit) override {
    const translator<K, V> translate(key_, value_);
    map_.for_each([&](const K& key, const V& value) {
      visit(translate.key.decode(key), translate.value.decode(value));
    });
  }

  observation observe(workload::operation by, std::uint64_t first, std::uint64_t last,
                      std::uint64_t most) override {
    observation seen{.by = by};
    translator<K, V> translate(key_, value_);
    handle_type own = map_.attach();
    if (by == workload::operation::size) {
      seen.found.size = static_cast<std::int64_t>(size_by(own, {}).value());
    } else {
      typename thorough_visit<K, V>::state sums{.seen = seen, .most = most, .translate = translate};
      try {
        if (!visit_by<K, V>(by, own, translate, first, last, thorough_visit<K, V>(sums), {})) {
          throw std::logic_error("the map gave up an operation although no stop was requested");
        }
      } catch (const endless_visit&) {
        seen.ended = false;
      }
    }
    return seen;
  }

  std::optional<std::string> broken_invariant() override {
    return assay::broken_invariant<K>(map_);
  }

 private:
  using handle_type = decltype(std::declval<Map&>().attach());

  class alignas(workload::interference_bytes) handle final : public attached_handle {
   public:
    handle(Map& map, const datum& key, const datum& value)
        : handle_(map.attach()), translate_(key, value) {}
    progress perform(const workload::operation_batch& batch, std::size_t first, std::size_t last,
                     const task& task, tally& sums) override {
      return trial::perform<K, V>(handle_, translate_, batch, first, last, task, sums);
    }

   private:
    handle_type handle_;
    translator<K, V> translate_;
  };

  datum key_;
  datum value_;
  Map map_;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_MEASURED_MAP_H_
