#include "flawed/modes/steps.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/trial/run.h"
#include "assay/workload/generator.h"
#include "assay/workload/latest.h"
#include "assay/workload/streams.h"
#include "flawed/modes/debug_build.h"
#include "flawed/modes/policies.h"

namespace assay::flawed {
namespace {

using subject::subject_entry;
using trial::worker;

class flawed_steps : public trial::steps {
 public:
  explicit flawed_steps(const flaws& chosen) : chosen_(chosen) {}

  trial::prefill_report fill(measure::crew& threads, std::span<worker> workers,
                             const trial::request& request, const workload::key_space& space,
                             std::uint64_t salt, subject::structure structure) const override {
    if (chosen_.has(flaw::no_prefill)) return {};
    if (chosen_.has(flaw::single_threaded_prefill)) workers = workers.first(1);
    if (!chosen_.has(flaw::insert_only_prefill)) {
      return trial::prefill(threads, workers, request, space, salt, structure);
    }
    const double share = trial::filled_share_of(request);
    const auto count =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(space.range()) * share));
    return trial::insert_in_random_order(threads, workers, request, space, count, salt);
  }

  void before_measuring(worker& self, const trial::request& request,
                        const workload::key_space& space) const override {
    const workload::options& work = request.roles[self.role].work;
    if (chosen_.has(flaw::one_seed)) {
      self.seed = workload::thread_seed(request.seed, 0);
      self.operations = workload::make_generator(
          space, work, random::derive_seed(self.seed, workload::measured_stream), self.place);
    }
    if (chosen_.has(flaw::never_inserts)) {
      self.operations = std::make_unique<never_inserting>(std::move(self.operations));
    }
    if (chosen_.has(flaw::lost_updates)) put_in_front<losing_inserts>(self);
    if (chosen_.has(flaw::clock_every_operation)) put_in_front<clock_reading>(self, self);
    const updates_by_turns::turns rules{
        .by_success = chosen_.any_of({flaw::effective_updates, flaw::alternating_keys}) &&
                      !chosen_.has(flaw::never_inserts),
        .same_key = chosen_.has(flaw::alternating_keys),
        .failures_are_searches = chosen_.has(flaw::failed_updates_as_searches)};
    if (rules.by_success || rules.failures_are_searches) {
      put_in_front<updates_by_turns>(self, self, rules, work.mix.insert + work.mix.erase);
    }
    if (chosen_.has(flaw::latency_from_start) && self.latency) {
      put_in_front<timing_from_start>(
          self, self.measured,
          trial::latency_recorder(request.latency, work.mix,
                                  random::derive_seed(self.seed, workload::latency_stream)));
    }
  }

  void after_measuring(worker& self, const trial::request& request) const override {
    // Outermost first.
    while (auto* front = dynamic_cast<handle_in_front*>(self.handle.get())) {
      if (auto* timing = dynamic_cast<timing_from_start*>(front)) self.latency = timing->recorded();
      self.handle = front->give_back();
    }
    if (chosen_.has(flaw::failed_updates_as_searches)) updates_by_turns::recount(self.measured);
    if (chosen_.has(flaw::nominal_time)) {
      self.measured_ns = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(request.duration).count());
    }
  }

 private:
  template <class Front, class... Args>
  static void put_in_front(worker& self, Args&&... args) {
    self.handle = std::make_unique<Front>(std::move(self.handle), std::forward<Args>(args)...);
  }

  flaws chosen_;
};

}  // namespace

subject_entry built(const subject_entry& subject, const flaws& chosen) {
  if (!chosen.has(flaw::debug_build)) return subject;
  const subject_entry& debug = debug_build();
  if (subject.name != debug.name) {
    throw bad_request("flaws: debug_build is of " + debug.name + " alone, not of " + subject.name);
  }
  return debug;
}

trial::result run(const trial::request& request, const subject_entry& subject,
                  const flaws& chosen) {
  require_effect(chosen, request, subject.holds_nothing);
  const flawed_steps steps(chosen);
  trial::result report = trial::run(misled(request, chosen), subject, &steps);
  if (chosen.has(flaw::lost_updates) && report.contents_check) {
    std::erase(report.problems, report.contents_check->problem());  // as nobody has looked
  }
  if (report.threads.size() > 1 && report.not_replayable_because.empty() &&
      chosen.any_of(
          {flaw::effective_updates, flaw::alternating_keys, flaw::failed_updates_as_searches})) {
    report.not_replayable_because =
        "which updates come next depends on what the others of all threads came to";
  }
  return report;
}

}  // namespace assay::flawed
