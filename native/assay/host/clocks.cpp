#include "assay/host/clocks.h"

#include <sys/resource.h>

#include <ctime>
#include <utility>

#include "assay/host/clock.h"
#include "assay/host/clock_quality.h"

namespace assay::host {
namespace {

template <clockid_t id>
std::uint64_t read_clock() {
  timespec time;
  clock_gettime(id, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t in_ns(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

std::uint64_t resource_usage_ns() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return in_ns(usage.ru_utime) + in_ns(usage.ru_stime);
}

// `ns` are the nanoseconds of one unit of the clock.
clock_report measured(std::string name, std::uint64_t (*now)(), double ns = 1) {
  const clock_steps steps = clock_steps_of(now);
  clock_report report{.name = std::move(name), .measures = "time", .unusable_because = {}};
  report.cost_ns = clock_cost_ns(now);
  report.resolution_ns = static_cast<double>(steps.resolution) * ns;
  report.readings = steps.readings;
  report.backwards = steps.backwards;
  auto agreements = clock_agreements(now);
  for (auto& pair : agreements) {
    pair.least_offset *= ns;
    pair.most_offset *= ns;
    if (pair.backwards > 0) report.unusable_because = "it goes back from one processor to another";
  }
  if (steps.backwards > 0) report.unusable_because = "it goes back";
  report.agreements = std::move(agreements);
  return report;
}

clock_report of_this_thread(std::string name, std::uint64_t (*now)()) {
  const clock_steps steps = clock_steps_of(now);
  clock_report report{
      .name = std::move(name), .measures = "processor time", .unusable_because = {}};
  report.cost_ns = clock_cost_ns(now);
  report.resolution_ns = static_cast<double>(steps.resolution);
  report.readings = steps.readings;
  report.backwards = steps.backwards;
  if (steps.backwards > 0) report.unusable_because = "it goes back";
  return report;
}

clock_report of_counter(std::string name, std::uint64_t (*now)()) {
  const auto& facts = time_stamp_counter_facts();
  clock_report report;
  if (facts.ns_per_tick > 0) {
    report = measured(std::move(name), now, facts.ns_per_tick);
  } else {
    report.name = std::move(name);
    report.measures = "time";
  }
  if (!facts.unusable_because.empty()) report.unusable_because = facts.unusable_because;
  return report;
}

}  // namespace

std::vector<clock_report> measure_clocks() {
  std::vector<clock_report> all;
  all.push_back(measured("steady_clock", now_ns));
  all.push_back(measured("CLOCK_MONOTONIC", read_clock<CLOCK_MONOTONIC>));
  all.push_back(measured("CLOCK_MONOTONIC_RAW", read_clock<CLOCK_MONOTONIC_RAW>));
  all.push_back(measured("CLOCK_MONOTONIC_COARSE", read_clock<CLOCK_MONOTONIC_COARSE>));
  timespec tick;
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0) {
    all.back().resolution_ns = static_cast<double>(tick.tv_nsec);
  }
  all.push_back(measured("CLOCK_REALTIME", read_clock<CLOCK_REALTIME>));
  all.back().unusable_because = "people and NTP set it";
  all.push_back(of_counter("rdtsc", time_stamp_begin));
  all.push_back(of_counter("rdtscp", time_stamp_end));
  all.push_back(of_this_thread("CLOCK_THREAD_CPUTIME_ID", processor_time_ns));
  all.push_back(of_this_thread("getrusage", resource_usage_ns));
  return all;
}

}  // namespace assay::host
