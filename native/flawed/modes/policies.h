// The policies behind flaws of the loop: a generator or a handle of a worker's, with another one in
// front of it. The loop calls them as it calls any.

#ifndef ASSAY_FLAWED_MODES_POLICIES_H_
#define ASSAY_FLAWED_MODES_POLICIES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/random/xoshiro256pp.h"
#include "assay/subject/any_map.h"
#include "assay/trial/latency.h"
#include "assay/trial/worker.h"
#include "assay/workload/generator.h"
#include "assay/workload/mix.h"

namespace assay::flawed {

// A stream of a thread's seed, in addition to those of workload/streams.h.
inline constexpr std::uint64_t choice_stream = 100;

// Every insert becomes an erase. Synchrobench decides by the sign of a number which of the two is
// next, and in the directory of the lock-free tree that number is unsigned.
class never_inserting : public workload::generator {
 public:
  explicit never_inserting(std::unique_ptr<workload::generator> honest)
      : honest_(std::move(honest)) {}

  void fill(workload::operation_batch& batch, std::size_t size) override;
  void feedback(const workload::operation_batch& batch, std::size_t performed) override {
    honest_->feedback(batch, performed);
  }
  [[nodiscard]] bool wants_feedback() const override { return honest_->wants_feedback(); }

 private:
  std::unique_ptr<workload::generator> honest_;
};

// A handle in front of the map's own, which it gives back.
class handle_in_front : public subject::any_handle {
 public:
  explicit handle_in_front(std::unique_ptr<subject::any_handle> own) : own_(std::move(own)) {}
  [[nodiscard]] std::unique_ptr<subject::any_handle> give_back() { return std::move(own_); }

 protected:
  subject::any_handle& own() { return *own_; }

 private:
  std::unique_ptr<subject::any_handle> own_;
};

// Reads the clock after every operation.
class clock_reading : public handle_in_front {
 public:
  clock_reading(std::unique_ptr<subject::any_handle> own, trial::worker& self)
      : handle_in_front(std::move(own)), self_(self) {}
  subject::progress perform(const workload::operation_batch& batch, std::size_t first,
                            std::size_t last, const subject::task& task,
                            subject::tally& sums) override;

 private:
  trial::worker& self_;
  std::uint64_t now_ = 0;
};

// Decides which update is next by how the last one ended; so it changes the batch of its worker as
// it goes.
class updates_by_turns : public handle_in_front {
 public:
  struct turns {
    bool by_success = false;             // an insert and an erase in turn, each until it succeeds
    bool same_key = false;               // an erase takes the key last inserted
    bool failures_are_searches = false;  // only those that succeed count as updates
  };

  updates_by_turns(std::unique_ptr<subject::any_handle> own, trial::worker& self, turns rules,
                   double updates_percent)
      : handle_in_front(std::move(own)),
        self_(self),
        rules_(rules),
        updates_percent_(updates_percent),
        engine_(random::derive_seed(self.seed, choice_stream)) {}

  subject::progress perform(const workload::operation_batch& batch, std::size_t first,
                            std::size_t last, const subject::task& task,
                            subject::tally& sums) override;

  // Failed updates among the operations of `measured` become searches, as they are counted.
  static void recount(subject::tally& measured);

 private:
  // Makes an operation of the worker's batch what it is to be.
  void decide(std::size_t i);
  void take_note(workload::operation kind, std::uint64_t key, bool succeeded);

  trial::worker& self_;
  turns rules_;
  double updates_percent_;
  random::xoshiro256pp engine_;        // which update a search becomes
  std::optional<std::uint64_t> last_;  // the key whose insert succeeded, until an erase does
  double operations_ = 0;
  double effective_ = 0;
};

// Loses one insert in 100 that succeeded: takes the key out again, which nobody counts.
class losing_inserts : public handle_in_front {
 public:
  using handle_in_front::handle_in_front;
  subject::progress perform(const workload::operation_batch& batch, std::size_t first,
                            std::size_t last, const subject::task& task,
                            subject::tally& sums) override;

 private:
  static constexpr std::uint64_t one_in = 100;

  std::uint64_t inserted_ = 0;
  workload::operation_batch undo_{};
};

// Takes the latency of operations from their start. The worker's own recorder, which counts from
// when they were due, is to be replaced by this one's at the end.
class timing_from_start : public handle_in_front {
 public:
  timing_from_start(std::unique_ptr<subject::any_handle> own, const subject::tally& measured,
                    trial::latency_recorder recorder)
      : handle_in_front(std::move(own)), measured_(measured), recorder_(std::move(recorder)) {}

  subject::progress perform(const workload::operation_batch& batch, std::size_t first,
                            std::size_t last, const subject::task& task,
                            subject::tally& sums) override;
  [[nodiscard]] trial::latency_recorder recorded() { return std::move(recorder_); }

 private:
  const subject::tally& measured_;  // what the loop adds to once it measures
  trial::latency_recorder recorder_;
  bool begun_ = false;
};

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_MODES_POLICIES_H_
