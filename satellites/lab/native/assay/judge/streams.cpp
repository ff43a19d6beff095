#include "assay/judge/streams.h"

#include <algorithm>
#include <array>
#include <vector>

#include "assay/random/splitmix64.h"
#include "assay/workload/streams.h"

namespace assay::judge {
namespace {

constexpr unsigned threads = 64;
constexpr unsigned trials = 16;
constexpr std::size_t window = 1024;

}  // namespace

stream_statistics examine_streams(
    const std::function<std::unique_ptr<random::number_source>(std::uint64_t)>& make,
    std::uint64_t seed) {
  std::vector<std::uint64_t> fingerprints;
  fingerprints.reserve(std::size_t{threads} * trials * window);
  bit_counter differing;
  std::uint64_t compared = 0;
  std::array<std::uint64_t, window> mine{};
  std::array<std::uint64_t, window> neighbours{};
  for (unsigned trial = 0; trial < trials; ++trial) {
    const std::uint64_t trial_seed = random::derive_seed(seed, trial);
    for (unsigned thread = 0; thread < threads; ++thread) {
      const auto source = make(random::derive_seed(workload::thread_seed(trial_seed, thread),
                                                   workload::measured_stream));
      source->fill(mine);
      const auto joined = static_cast<std::size_t>((127 + source->bits()) / source->bits());
      for (std::size_t i = 0; i + joined <= window; ++i) {
        std::uint64_t fingerprint = 0;
        for (std::size_t j = i; j < i + joined; ++j)
          fingerprint = random::mix64(fingerprint + random::golden_gamma) ^ mine[j];
        fingerprints.push_back(fingerprint);
      }
      if (thread % 2 == 1) {
        differing.add(window, [&](std::size_t i) { return mine[i] ^ neighbours[i]; });
        compared += window;
      }
      neighbours = mine;
    }
  }
  std::ranges::sort(fingerprints);
  std::uint64_t collisions = 0;
  for (std::size_t i = 0, first = 0; i < fingerprints.size(); ++i) {
    if (fingerprints[i] != fingerprints[first]) first = i;
    collisions += i - first;
  }
  return {std::uint64_t{threads} * trials, fingerprints.size(), collisions, compared,
          differing.counts()};
}

seed_statistics examine_seeds(
    const std::function<std::unique_ptr<random::number_source>(std::uint64_t)>& make,
    std::uint64_t seed) {
  const auto first = [&](std::uint64_t of) {
    std::array<std::uint64_t, window> numbers{};
    make(of)->fill(numbers);
    return numbers;
  };
  const std::uint64_t some = random::derive_seed(seed, trials);  // neither 0 nor 1
  const auto numbers = first(some);
  seed_statistics found{{}, first(0) == first(1), first(some) == numbers};
  for (int bit = 0; bit < 64; ++bit) {
    if (first(some ^ std::uint64_t{1} << static_cast<unsigned>(bit)) == numbers) {
      found.alike.push_back(bit);
    }
  }
  return found;
}

}  // namespace assay::judge
