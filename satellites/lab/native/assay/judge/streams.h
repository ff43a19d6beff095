// Whether the streams of a trial's threads have anything in common: each thread draws from a seed
// of its own, and two that draw the same numbers do the same work.

#ifndef ASSAY_JUDGE_STREAMS_H_
#define ASSAY_JUDGE_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "assay/judge/bit_counter.h"
#include "assay/random/engine.h"

namespace assay::judge {

struct stream_statistics {
  std::uint64_t streams;
  std::uint64_t fingerprints;  // of at least 128 bits of successive numbers, at every place
  std::uint64_t collisions;    // pairs of equal ones, wherever they are
  std::uint64_t compared;      // numbers of one thread with those of its neighbour
  bit_counts differing;        // of them, in each bit
};

// The windows are those with which the measured part of a trial begins: of 64 threads in each of 16
// trials, 1024 numbers each.
[[nodiscard]] stream_statistics examine_streams(
    const std::function<std::unique_ptr<random::number_source>(std::uint64_t)>& make,
    std::uint64_t seed);

struct seed_statistics {
  std::vector<int> alike;  // bits of the seed in which two may differ and draw the same numbers
  bool zero_is_one;        // so do the seeds 0 and 1
  bool repeats;            // the same seed draws the same numbers again
};

// The first numbers of seeds that differ in one bit, of the same one twice, and of 0 and 1.
[[nodiscard]] seed_statistics examine_seeds(
    const std::function<std::unique_ptr<random::number_source>(std::uint64_t)>& make,
    std::uint64_t seed);

}  // namespace assay::judge

#endif  // ASSAY_JUDGE_STREAMS_H_
