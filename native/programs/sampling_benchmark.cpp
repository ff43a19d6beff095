// What does timing one operation in 64 cost the trial loop?
//
// Where in memory a map of a million keys comes to lie makes processes differ by a tenth and more,
// far more than what is looked for. So this program measures one map for a short while with
// sampling and for as long without, again and again, and prints the median of the ratios for each
// of a few maps, as JSON.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>
#include <vector>

#include "assay/host/clock.h"
#include "assay/trial/subject.h"
#include "assay/trial/worker.h"
#include "assay/workload/generator.h"

namespace {

using namespace assay;

constexpr std::uint64_t keys = 1'000'000;
constexpr workload::mix mix{10, 10, 80};
constexpr trial::latency_sampling one_in_64 = 64;
constexpr std::size_t rounds = 31;
constexpr std::chrono::milliseconds stretch(25);

// Inserts random keys until half of them are there, which is what the mix keeps up.
void prefill(trial::worker& self, const workload::key_space& space) {
  const auto inserts = workload::make_generator(space, {.mix = {100, 0, 0}}, 2);
  trial::tally sums;
  while (sums.succeeded[0] < keys / 2) {
    inserts->fill(self.batch, workload::operation_batch::capacity);
    self.handle->perform(self.batch, 0, self.batch.size, {}, sums);
  }
}

// Nanoseconds per operation over one stretch of time.
double measure(trial::worker& self, trial::latency_sampling sampling, std::uint64_t seed) {
  self.latency.reset();
  if (sampling > 0) self.latency.emplace(sampling, mix, seed);
  self.meter.emplace();
  self.measured = {};
  std::stop_source stop;
  // Sleeps for the stretch's whole length, so that it takes no processor from what is measured.
  const std::jthread timer([&stop] {
    std::this_thread::sleep_for(stretch);
    stop.request_stop();
  });
  trial::measure(self, {host::now_ns(), 0, UINT64_MAX}, 0, stop.get_token());
  return static_cast<double>(self.measured_ns) / static_cast<double>(self.measured.operations());
}

double median_ratio(const char* subject) {
  const workload::key_space space(keys, workload::key_layout::dense, 1);
  const auto map = trial::find_subject(subject).build({.key_range = keys, .threads = 1});
  const auto self = std::make_unique<trial::worker>();
  self->handle = map->attach();
  prefill(*self, space);
  self->operations = workload::make_generator(space, {.mix = mix}, 3);
  self->series.resize(1);
  std::array<double, rounds> ratios{};
  for (std::size_t round = 0; round < rounds; ++round) {
    const bool sampled_first = round % 2 == 1;  // what comes second finds a warmer map
    const double first = measure(*self, sampled_first ? one_in_64 : 0, round);
    const double second = measure(*self, sampled_first ? 0 : one_in_64, round);
    ratios[round] = sampled_first ? first / second : second / first;
  }
  std::ranges::nth_element(ratios, ratios.begin() + rounds / 2);
  return ratios[rounds / 2];
}

}  // namespace

int main() try {
  nlohmann::json ratios;
  for (const char* subject : {"std_map_mutex", "absl_btree_shared_mutex", "tbb_hash_map"}) {
    ratios[subject] = median_ratio(subject);
  }
  std::cout << ratios << '\n' << std::flush;
  return std::cout ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
