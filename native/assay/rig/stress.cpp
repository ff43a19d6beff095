#include "assay/rig/stress.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "assay/rig/disturbance.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/watchdog.h"
#include "assay/trial/run.h"

namespace assay::rig {
namespace {

// Mostly updates, and a little of whatever else the map offers.
workload::mix mix_of(const trial::subject_entry& subject) {
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
  return mix;
}

// A map that is asked for broken invariants before it is destroyed, when the trial is over.
class asked_at_end final : public trial::measured_map {
 public:
  asked_at_end(std::unique_ptr<trial::measured_map> map, std::optional<std::string>& broken)
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

  std::unique_ptr<trial::attached_handle> attach() override { return map_->attach(); }
  void for_each(const visitor& visit) override { map_->for_each(visit); }
  trial::observation observe(workload::operation by, std::uint64_t first, std::uint64_t last,
                             std::uint64_t most) override {
    return map_->observe(by, first, last, most);
  }
  std::optional<std::string> broken_invariant() override { return map_->broken_invariant(); }

 private:
  std::unique_ptr<trial::measured_map> map_;
  std::optional<std::string>& broken_;
};

// The subject, whose maps write what is wrong with them to `broken` at their end.
trial::subject_entry asking_at_end(trial::subject_entry subject,
                                   std::optional<std::string>& broken) {
  for (auto& types : subject.types) {
    types.build = [build = types.build, &broken](const trial::map_hints& hints) {
      return std::make_unique<asked_at_end>(build(hints), broken);
    };
  }
  return subject;
}

}  // namespace

stressed stress(const trial::subject_entry& subject, const stressing& asked) {
  constexpr unsigned threads = 8;
  watchdog watch(
      {.check = "stress", .map = subject.name, .seed = asked.seed, .longer = asked.duration});
  const disturb_at_points disturbed(asked.seed);
  stressed seen;
  for (const unsigned keys : {8U, 512U}) {
    trial::request request{
        .subject = subject.name,
        .seed = asked.seed + keys,
        .pinning = {},
        .key_range = keys,
        .keys = workload::key_layout::dense,
        .roles = trial::one_role(std::min(threads, subject.max_threads.value_or(threads)),
                                 mix_of(subject)),
        .duration = asked.duration,
        .interval = asked.duration};
    request.roles[0].fold = workload::fold::sum;
    std::optional<std::string> broken;
    const trial::result result = telling_failures(subject.name, asked.seed, [&] {
      return trial::run(request, asking_at_end(subject, broken));
    });
    watch.sign_of_life();
    for (const auto& thread : result.threads) seen.operations += thread.operations.operations();
    for (const auto& problem : result.problems) {
      seen.problems.push_back(std::to_string(keys) + " keys: " + problem);
    }
    if (broken) seen.problems.push_back(std::to_string(keys) + " keys: " + *broken);
  }
  return seen;
}

}  // namespace assay::rig
