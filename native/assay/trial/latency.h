// How long single operations of a thread take: all of them, or a random one in N.
//
// Two readings of the clock cost 40 ns or more, as much as many an operation. So only some
// operations are timed, if that is asked for, and the others are performed in segments between
// them, as fast as without. The gaps from one timed operation to the next are random, 1 to 2N - 1
// with a mean of N: at a fixed gap, whatever a map does periodically (to split a node at every 64th
// insert) would be seen always or never.

#ifndef ASSAY_TRIAL_LATENCY_H_
#define ASSAY_TRIAL_LATENCY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "assay/measure/duration_histogram.h"
#include "assay/random/xoshiro256pp.h"
#include "assay/trial/request.h"
#include "assay/workload/mix.h"
#include "assay/workload/operation_batch.h"

namespace assay::trial {

// One histogram for each kind of operation that occurs, by its number.
using latencies = std::array<std::optional<measure::duration_histogram>, workload::operation_kinds>;

// Adds another thread's latencies.
void merge(latencies& sums, const latencies& other);

// Chooses operations to be timed and holds their durations.
class latency_recorder {
 public:
  // `sampling` is not 0. All memory is taken here, for the kinds in `mix`.
  latency_recorder(latency_sampling sampling, const workload::mix& mix, std::uint64_t seed);

  // How many operations come before the next one to be timed.
  [[nodiscard]] std::size_t untimed() const { return untimed_; }

  // Takes note that `operations` <= untimed() were performed.
  void pass(std::size_t operations) { untimed_ -= operations; }

  // Takes note that one was performed and took so long, and chooses the next. Before begin(), no
  // more than a batch of them between two calls of forget().
  void timed(workload::operation kind, std::uint64_t ns) {
    if (begun_) {
      durations_[static_cast<std::size_t>(kind)]->add(ns);
    } else {
      before_.push_back({kind, ns});
    }
    untimed_ = sampling_ == 1 ? 0 : gap() - 1;
  }

  // The measured interval begins: durations count from now on, and those since the last forget().
  void begin();
  void forget() { before_.clear(); }

  [[nodiscard]] const latencies& durations() const { return durations_; }

 private:
  std::size_t gap();

  latency_sampling sampling_;
  random::xoshiro256pp engine_;
  std::size_t untimed_ = 0;
  bool begun_ = false;
  struct duration {
    workload::operation kind;
    std::uint64_t ns;
  };
  std::vector<duration> before_;  // begin()
  latencies durations_;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_LATENCY_H_
