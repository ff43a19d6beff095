#include "assay/trial/worker.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "assay/host/clock.h"
#include "assay/trial/batch_pacer.h"

namespace assay::trial {
namespace {

// Processor time of the calling thread, which stands still while the thread waits or another has
// its processor.
std::uint64_t processor_time_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

void measure(worker& self, const timetable& times, std::uint64_t salt,
             const std::stop_token& stop) {
  const task task{
      .salt = salt, .fold = self.role ? self.role->fold : workload::fold::count, .stop = stop};
  batch_pacer pacer;
  std::uint64_t now = 0;
  const auto perform_batch = [&](tally& sums) {
    const std::uint64_t batch_start = now;
    self.operations->fill(self.batch, pacer.size());
    const progress done = self.handle->perform(self.batch, 0, self.batch.size, task, sums);
    now = host::now_ns();
    pacer.took(now - batch_start);
    if (done.gave_up) self.unfinished = {self.batch.kinds[done.performed], now - batch_start};
    return done.performed;
  };

  const std::uint64_t series_start = times.start_ns + times.warm_up_ns;
  now = host::now_ns();
  std::uint64_t own_start = std::min(now, series_start);
  while (now < series_start && !stop.stop_requested()) {
    perform_batch(self.warmed_up);
    own_start = now;
  }

  // Some microseconds of system calls. They count as measured time, so that they are no gap.
  self.meter->start();
  const std::uint64_t processor_start = processor_time_ns();
  std::size_t slot = 0;
  std::uint64_t slot_end = series_start + times.interval_ns;
  now = host::now_ns();
  while (!stop.stop_requested()) {
    const std::size_t performed = perform_batch(self.measured);
    while (now >= slot_end && slot + 1 < self.series.size()) {
      ++slot;
      slot_end += times.interval_ns;
    }
    self.series[slot] += performed;
  }
  self.measured_ns = now - own_start;
  self.processor_ns = processor_time_ns() - processor_start;
  self.meter->stop();
}

void time_generation(worker& self) {
  constexpr std::size_t batches = 64;
  std::array<std::uint64_t, 5> rounds;
  for (auto& round : rounds) {
    const std::uint64_t start = processor_time_ns();
    for (std::size_t i = 0; i < batches; ++i) {
      self.operations->fill(self.batch, workload::operation_batch::capacity);
    }
    round = processor_time_ns() - start;
  }
  // The median, so that an interrupt or a cold cache does not count.
  std::nth_element(rounds.begin(), rounds.begin() + rounds.size() / 2, rounds.end());
  self.generation_ns = static_cast<double>(rounds[rounds.size() / 2]) /
                       static_cast<double>(batches * workload::operation_batch::capacity);
}

}  // namespace assay::trial
