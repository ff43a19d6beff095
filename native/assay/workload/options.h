// What a thread's operations are drawn from, as experiments say it: plain values, without the code
// that draws.

#ifndef ASSAY_WORKLOAD_OPTIONS_H_
#define ASSAY_WORKLOAD_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "assay/random/engine.h"
#include "assay/workload/mix.h"

namespace assay::workload {

// How many numbers an operation takes: one, split between key and kind, or one for the key and then
// one for the kind.
enum class draws { one, two };

// How a number x becomes one below n: the high half of x * n (Lemire 2019), or x modulo n.
enum class bounding { multiply, modulo };

enum class distribution_kind {
  uniform,
  zipf,
  hot_set,
  binomial,
  exponential,
  normal,
  sequential,
  latest,
  empirical,
};

// Which keys are drawn how often. Members that a kind does not name are not looked at. Shares are
// of the key range, whose keys are numbered from 0.
struct distribution {
  distribution_kind kind = distribution_kind::uniform;
  double exponent = 0.99;          // zipf and latest: >= 0
  double operations_percent = 90;  // hot_set: of the operations, above 0, at most 100 ...
  double keys_percent = 10;        // ... on this percentage of the keys, above 0, at most 100
  double p = 0.5;                  // binomial of range - 1 tries: 0 to 1
  double mean_percent = 50;        // exponential and normal: above 0 / any finite
  double deviation_percent = 10;   // normal: above 0
  std::vector<double> weights{};   // empirical: of as many equal parts of the key range, in order
  bool scrambled = false;  // the indices drawn are spread over the key range by a bijection of it

  friend bool operator==(const distribution&, const distribution&) = default;
};

// Numbers of neighbouring keys that a range spans, uniform from `least` to `most`.
struct range_lengths {
  std::uint64_t least = 100;
  std::uint64_t most = 100;

  friend bool operator==(const range_lengths&, const range_lengths&) = default;
};

// What is done with the elements that a range or a whole visit meets.
enum class fold { count, sum };

struct options {
  random::engine_choice engine{};
  workload::draws draws = draws::one;
  workload::bounding bounding = bounding::multiply;
  distribution keys{};
  workload::mix mix{};
  range_lengths lengths{};
};

// Which of a trial's threads draws: some distributions share work among all.
struct thread_place {
  unsigned index = 0;
  unsigned threads = 1;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_OPTIONS_H_
