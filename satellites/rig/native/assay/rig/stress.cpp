#include "assay/rig/stress.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "assay/random/splitmix64.h"
#include "assay/rig/ends.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/interfere/starvation.h"
#include "assay/rig/interfere/yields.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/randomness.h"
#include "assay/rig/watch/lock_order.h"
#include "assay/rig/watch/watchdog.h"
#include "assay/subject/erased_map.h"
#include "assay/trial/drawing.h"
#include "assay/trial/run.h"

namespace assay::rig {
namespace {

using subject::any_handle;
using subject::any_map;
using subject::held_types;
using subject::map_hints;
using subject::subject_entry;
using subject::type_spec;

// Mostly updates, and a little of whatever else the map offers.
workload::mix mix_of(const subject_entry& subject) {
  using workload::operation;
  const auto offered = [&](operation kind) {
    return std::ranges::find(subject.operations, kind) != subject.operations.end() ? 2.0 : 0.0;
  };
  workload::mix mix{0,
                    0,
                    10,
                    offered(operation::range),
                    offered(operation::size),
                    offered(operation::snapshot),
                    offered(operation::iterate)};
  double updates = 90 - mix.range - mix.size - mix.snapshot - mix.iterate;
  for (const operation kind : subject.operations) {
    if (kind > operation::iterate) updates -= mix.share(kind) = 1;
  }
  mix.insert = mix.erase = updates / 2;
  return mix;
}

// A map whose keys from 1 to 8 are at the ends of their type. It has insert, erase and find.
class map_at_ends final : public any_map {
 public:
  map_at_ends(std::unique_ptr<any_map> map, const ends& keys, map_hints hints)
      : map_(std::move(map)), keys_(keys), hints_(std::move(hints)) {}

  std::unique_ptr<any_handle> attach() override {
    return std::make_unique<handle>(map_->attach(), keys_, hints_);
  }
  void for_each(const subject::visitor& visit) override {
    map_->for_each([&](std::uint64_t key, std::uint64_t value) {
      const auto at = std::ranges::find(keys_, key);
      visit(at == keys_.end() ? 0 : static_cast<std::uint64_t>(at - keys_.begin()) + 1, value);
    });
  }
  std::optional<std::string> broken_invariant() override { return map_->broken_invariant(); }

 private:
  struct calls {
    any_handle& to;
    const ends& keys;

    bool insert(std::uint64_t key, std::uint64_t value) {
      return std::get<bool>(
          to.ask({.kind = workload::operation::insert, .key = keys.at(key - 1), .value = value}));
    }
    bool erase(std::uint64_t key) {
      return std::get<bool>(to.ask({.kind = workload::operation::erase, .key = keys.at(key - 1)}));
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      return std::get<std::optional<std::uint64_t>>(
          to.ask({.kind = workload::operation::find, .key = keys.at(key - 1)}));
    }
  };

  class handle final : public any_handle {
   public:
    handle(std::unique_ptr<any_handle> to, const ends& keys, const map_hints& hints)
        : to_(std::move(to)), calls_{*to_, keys}, translate_({}, hints.value) {}

    subject::progress perform(const workload::operation_batch& batch, std::size_t first,
                              std::size_t last, const subject::task& task,
                              subject::tally& sums) override {
      return subject::perform<std::uint64_t, std::uint64_t>(calls_, translate_, batch, first, last,
                                                            task, sums);
    }
    // Trials ask for nothing else at their end.
    subject::answer ask(const subject::question& asked) override { return calls_.find(asked.key); }

   private:
    std::unique_ptr<any_handle> to_;
    calls calls_;
    subject::translator<std::uint64_t, std::uint64_t> translate_;
  };

  std::unique_ptr<any_map> map_;
  ends keys_;
  map_hints hints_;
};

// The subject, whose maps are watched.
subject_entry looked_after(subject_entry subject, watchdog& watch) {
  for (auto& types : subject.types) {
    types.build = [build = types.build, &watch](const map_hints& hints) {
      return watch.over(build(hints));
    };
  }
  return subject;
}

// The same, with maps of one type that have their keys at its ends.
subject_entry at_ends(const subject_entry& subject, const held_types& types, watchdog& watch) {
  subject_entry all = subject;
  if (types.value != type_spec::kind::uint64) all.value_bits = 64;
  all.types = {{.key = type_spec::kind::uint64,
                .value = type_spec::kind::uint64,
                .build = [&types, &watch, keys = end_keys(subject, types.key)](
                             const map_hints& hints) -> std::unique_ptr<any_map> {
                  return std::make_unique<map_at_ends>(
                      watch.over(build_as(types, hints.key_range, hints.threads)), keys, hints);
                }}};
  return all;
}

// "8 keys", which of them if they are at the ends of their type.
std::string told_keys(const subject_entry& subject, unsigned keys, const held_types* types) {
  std::string text = std::to_string(keys) + " keys";
  if (types == nullptr) return text;
  text += types_suffix(subject, *types) + ", called 1 to 8, which are";
  for (const std::uint64_t key : end_keys(subject, types->key)) text += ' ' + std::to_string(key);
  return text;
}

// Values at one end of their type. The map may reserve some of them.
std::optional<trial::drawing> values_at_end(const subject_entry& subject, const held_types& types,
                                            bool greatest) {
  const auto all = end_values(subject, types.value);
  const std::uint64_t most = subject.greatest_value(types.value);
  const std::uint64_t from = greatest ? most - 2 : 0;
  const bool any = std::ranges::any_of(
      all, [&](std::uint64_t value) { return value >= from && value <= from + 2; });
  return any ? std::optional(trial::drawing{.from = from, .to = from + 2}) : std::nullopt;
}

}  // namespace

stressed stress(const subject_entry& subject, const stressing& asked) {
  struct trial_kind {
    unsigned threads;
    unsigned keys;
    bool disturbed;
    unsigned lengths;      // of the duration that is asked for
    bool closely = false;  // few yields
    // Whose ends the keys are at; the values are at the greater one, too, or at the lesser.
    const held_types* types = nullptr;
    bool greatest_values = false;
  };
  using std::chrono::milliseconds;
  constexpr milliseconds longest_look(6000);
  watchdog watch({.check = "stress", .map = subject.name, .seed = asked.seed});
  const unsigned most = subject.max_threads.value_or(8);
  stressed seen;
  std::uint64_t trials = 0;
  // Says whether it is worth a longer look: a thread was in one operation half of the time.
  const auto run = [&](const trial_kind& kind, milliseconds duration) {
    std::optional<disturb_at_points> disturbed;
    if (kind.disturbed || randomness() > 0) disturbed.emplace(asked.seed);
    trial::request request{.subject = subject.name,
                           .seed = random::derive_seed(asked.seed, trials++),
                           .pinning = {},
                           .key_range = kind.keys,
                           .keys = workload::key_layout::dense,
                           .roles = trial::one_role(
                               std::min(kind.threads, most),
                               kind.types == nullptr ? mix_of(subject) : workload::mix{40, 40, 20}),
                           .duration = duration,
                           .interval = duration};
    request.roles[0].fold = workload::fold::sum;
    if (kind.types != nullptr) {
      request.values = values_at_end(subject, *kind.types, kind.greatest_values);
    }
    const provoked_deadlocks provoked;
    std::optional<suppress_yields> closely;
    if (kind.closely) closely.emplace();
    starvation starving(watch);
    const trial::result result = telling_failures(subject.name, asked.seed, [&] {
      return trial::run(request, kind.types == nullptr ? looked_after(subject, watch)
                                                       : at_ends(subject, *kind.types, watch));
    });
    watch.sign_of_life();
    for (const auto& thread : result.threads) seen.operations += thread.operations.operations();
    const auto tell = [&](const std::string& problem) {
      seen.problems.push_back(std::to_string(request.threads()) + " threads, " +
                              told_keys(subject, kind.keys, kind.types) + ": " + problem);
    };
    std::ranges::for_each(result.problems, tell);
    const auto starved = starving.end();
    if (starved.beyond_doubt) tell(starved.message);
    // A busy machine lets a thread wait for a processor for less.
    const bool suspicious = starved.longest >= std::max(duration / 2, milliseconds(250));
    if (suspicious && duration >= longest_look) {
      seen.unclear = "to see whether a thread starves that was inside one operation for " +
                     std::to_string(starved.longest.count() / 1000) + " s";
    }
    return suspicious;
  };
  // The one that shows who starves comes first: it needs seconds more then. In the second and the
  // last, those that wait meet what others do next: on idle processors best if each thread has
  // nearly one, on busy ones if there are many.
  for (const trial_kind& kind :
       {trial_kind{4, 64, false, 3}, trial_kind{8, 8, false, 2, true}, trial_kind{8, 8, true, 1},
        trial_kind{8, 512, true, 1}, trial_kind{3, 8, false, 2, true},
        trial_kind{8, 8, true, 1, false, &subject.types.front(), false},
        trial_kind{4, 8, false, 1, false, &subject.types.back(), true}}) {
    bool suspicious = run(kind, kind.lengths * asked.duration);
    for (const milliseconds longer : {milliseconds(3000), longest_look}) {
      if (!seen.problems.empty()) return seen;
      suspicious = suspicious && !kind.disturbed && run(kind, longer);
    }
  }
  return seen;
}

}  // namespace assay::rig
