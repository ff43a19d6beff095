#include "assay/rig/stress.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/rig/disturbance.h"
#include "assay/rig/lock_order.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/randomness.h"
#include "assay/rig/starvation.h"
#include "assay/rig/watchdog.h"
#include "assay/rig/yields.h"
#include "assay/trial/run.h"

namespace assay::rig {
namespace {

// Mostly updates, and a little of whatever else the map offers.
workload::mix mix_of(const subject_entry& subject) {
  using workload::operation;
  const auto offered = [&](operation kind) {
    return std::ranges::find(subject.operations, kind) != subject.operations.end() ? 2.0 : 0.0;
  };
  workload::mix mix{40,
                    40,
                    0,
                    offered(operation::range),
                    offered(operation::size),
                    offered(operation::snapshot),
                    offered(operation::iterate)};
  mix.find = 20 - mix.range - mix.size - mix.snapshot - mix.iterate;
  for (const operation kind : subject.operations) {
    if (kind > operation::iterate) mix.find -= mix.share(kind) = 1;
  }
  return mix;
}

// A map that is asked for broken invariants before it is destroyed, when the trial is over.
class asked_at_end final : public any_map {
 public:
  asked_at_end(std::unique_ptr<any_map> map, std::optional<std::string>& broken)
      : map_(std::move(map)), broken_(broken) {}
  ~asked_at_end() override {
    try {
      broken_ = map_->broken_invariant();
    } catch (const std::exception& error) {
      broken_ = error.what();
    }
  }
  asked_at_end(const asked_at_end&) = delete;
  asked_at_end& operator=(const asked_at_end&) = delete;

  std::unique_ptr<any_handle> attach() override { return map_->attach(); }
  void for_each(const visitor& visit) override { map_->for_each(visit); }
  std::optional<std::string> broken_invariant() override { return map_->broken_invariant(); }

 private:
  std::unique_ptr<any_map> map_;
  std::optional<std::string>& broken_;
};

// The subject, whose maps are watched and write what is wrong with them to `broken` at their end.
subject_entry looked_after(subject_entry subject, watchdog& watch,
                           std::optional<std::string>& broken) {
  for (auto& types : subject.types) {
    types.build = [build = types.build, &watch, &broken](const map_hints& hints) {
      return std::make_unique<asked_at_end>(watch.over(build(hints)), broken);
    };
  }
  return subject;
}

}  // namespace

stressed stress(const subject_entry& subject, const stressing& asked) {
  struct trial_kind {
    unsigned threads;
    unsigned keys;
    bool disturbed;
    unsigned lengths;      // of the duration that is asked for
    bool closely = false;  // few yields
  };
  using std::chrono::milliseconds;
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
                           .roles = trial::one_role(std::min(kind.threads, most), mix_of(subject)),
                           .duration = duration,
                           .interval = duration};
    request.roles[0].fold = workload::fold::sum;
    std::optional<std::string> broken;
    const provoked_deadlocks provoked;
    std::optional<few_yields> closely;
    if (kind.closely) closely.emplace();
    starvation starving(watch);
    const trial::result result = telling_failures(subject.name, asked.seed, [&] {
      return trial::run(request, looked_after(subject, watch, broken));
    });
    watch.sign_of_life();
    for (const auto& thread : result.threads) seen.operations += thread.operations.operations();
    const auto tell = [&](const std::string& problem) {
      seen.problems.push_back(std::to_string(request.threads()) + " threads, " +
                              std::to_string(kind.keys) + " keys: " + problem);
    };
    std::ranges::for_each(result.problems, tell);
    if (broken) tell(*broken);
    const auto starved = starving.end();
    if (starved.beyond_doubt) tell(starved.told);
    // A busy machine lets a thread wait for a processor for less.
    return starved.longest >= std::max(duration / 2, milliseconds(250));
  };
  // The one that shows who starves comes first: it needs seconds more then. In the second and the last,
  // those that wait meet what others do next: on idle processors best if each thread has nearly one,
  // on busy ones if there are many.
  for (const trial_kind& kind :
       {trial_kind{4, 64, false, 3}, trial_kind{8, 8, false, 2, true}, trial_kind{8, 8, true, 1},
        trial_kind{8, 512, true, 1}, trial_kind{3, 8, false, 2, true}}) {
    bool suspicious = run(kind, kind.lengths * asked.duration);
    for (const milliseconds longer : {milliseconds(3000), milliseconds(10'000)}) {
      if (!seen.problems.empty()) return seen;
      suspicious = suspicious && !kind.disturbed && run(kind, longer);
    }
  }
  return seen;
}

}  // namespace assay::rig
