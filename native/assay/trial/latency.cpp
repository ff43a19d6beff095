#include "assay/trial/latency.h"

namespace assay::trial {

void merge(latencies& sums, const latencies& other) {
  for (std::size_t kind = 0; kind < sums.size(); ++kind) {
    if (!other[kind]) continue;
    if (!sums[kind]) sums[kind].emplace();
    sums[kind]->merge(*other[kind]);
  }
}

latency_recorder::latency_recorder(latency_sampling sampling, const workload::mix& mix,
                                   std::uint64_t seed)
    : sampling_(sampling), engine_(seed) {
  const auto percents = mix.shares();
  for (std::size_t kind = 0; kind < percents.size(); ++kind) {
    if (percents[kind] > 0) durations_[kind].emplace();
  }
  // The first gap may begin anywhere in one, so that threads do not all time their first operation.
  if (sampling_ > 1) untimed_ = gap() - 1;
  before_.reserve(workload::operation_batch::capacity);
}

void latency_recorder::begin() {
  begun_ = true;
  for (const auto& [kind, ns] : before_) durations_[static_cast<std::size_t>(kind)]->add(ns);
}

std::size_t latency_recorder::gap() {
  __extension__ using uint128 = unsigned __int128;
  const std::uint64_t gaps = 2 * std::uint64_t{sampling_} - 1;
  return 1 + static_cast<std::size_t>(uint128{engine_()} * gaps >> 64);
}

}  // namespace assay::trial
