#include "assay/trial/worker.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <utility>

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

// The two loops work by steps, from one reading of the clock to another. `measure` lets them.

// As fast as possible: a step is a batch.
class closed_loop {
 public:
  closed_loop(worker& self, task task)
      : self_(self), task_(std::move(task)), pacer_(self.batch_size) {}

  [[nodiscard]] std::uint64_t now() const { return now_; }
  void look_at_clock() { now_ = host::now_ns(); }

  // Performs operations, adds what came of them to `sums`, and returns how many it were.
  std::size_t step(tally& sums) {
    const std::uint64_t start = now_;
    since_ = start;
    self_.operations->fill(self_.batch, pacer_.size());
    const progress done = self_.latency ? perform_timed(sums) : perform(0, self_.batch.size, sums);
    now_ = host::now_ns();
    pacer_.took(now_ - start);
    longest_batch_ns_ = std::max(longest_batch_ns_, now_ - start);
    self_.operations->told(self_.batch, done.performed);
    if (done.gave_up) self_.unfinished = {self_.batch.kinds[done.performed], now_ - since_};
    return done.performed;
  }
  std::size_t step_until(std::uint64_t /*ns*/, tally& sums) { return step(sums); }

  // The measured interval begins, or has ended.
  void begin(std::uint64_t /*since*/) {
    if (self_.latency) self_.latency->begin();
    longest_batch_ns_ = longest_timed_ns_ = 0;
  }
  void end() {
    const bool each_timed = self_.latency && self_.latency->times_all();
    self_.longest_ns = each_timed ? longest_timed_ns_ : longest_batch_ns_;
  }

 private:
  progress perform(std::size_t first, std::size_t last, tally& sums) {
    return self_.handle->perform(self_.batch, first, last, task_, sums);
  }

  // The batch in segments: those of operations that are not timed, and each one that is.
  progress perform_timed(tally& sums) {
    latency_recorder& latency = *self_.latency;
    const std::size_t size = self_.batch.size;
    for (std::size_t next = 0;;) {
      const std::size_t segment = std::min(latency.untimed(), size - next);
      if (segment > 0) {
        const progress done = perform(next, next + segment, sums);
        latency.pass(done.performed);
        next += done.performed;
        if (done.performed < segment) return {next, done.gave_up};
      }
      if (next == size) return {size, false};
      const std::uint64_t start = host::now_ns();
      const progress done = perform(next, next + 1, sums);
      const std::uint64_t took = host::now_ns() - start;
      if (done.performed == 0) {
        since_ = start;
        return {next, done.gave_up};
      }
      latency.timed(self_.batch.kinds[next], took);
      longest_timed_ns_ = std::max(longest_timed_ns_, took);
      ++next;
    }
  }

  worker& self_;
  task task_;
  batch_pacer pacer_;
  std::uint64_t now_ = 0;
  std::uint64_t since_ = 0;  // an operation that does not finish has been running, at most
  std::uint64_t longest_batch_ns_ = 0;
  std::uint64_t longest_timed_ns_ = 0;
};

// Each operation when it is due: a step is one operation, or a wait for one.
class open_loop {
 public:
  static constexpr std::size_t few = 64;  // operations that are generated at once

  open_loop(worker& self, task task, std::uint64_t start_ns)
      : self_(self), task_(std::move(task)), arrivals_(*self.arrivals), start_ns_(start_ns) {
    self_.batch.size = 0;
  }

  [[nodiscard]] std::uint64_t now() const { return now_; }
  void look_at_clock() { now_ = host::now_ns(); }

  std::size_t step(tally& sums) {
    return step_until(std::numeric_limits<std::uint64_t>::max(), sums);
  }

  // Does not wait beyond `ns`.
  std::size_t step_until(std::uint64_t ns, tally& sums) {
    if (next_ == self_.batch.size) generate();
    const std::uint64_t due = due_at();
    if (now_ < due) {
      now_ = wait_until(std::min(due, ns), task_.stop);
      if (now_ < due || task_.stop.stop_requested()) return 0;
    }
    const std::uint64_t begun = now_;
    counts_.arrived += due >= measured_since_;
    arrivals_.advance();
    const progress done = self_.handle->perform(self_.batch, next_, next_ + 1, task_, sums);
    now_ = host::now_ns();
    const workload::operation kind = self_.batch.kinds[next_];
    if (done.gave_up) self_.unfinished = {kind, now_ - begun};
    if (done.performed == 0) {
      counts_.backlog += !done.gave_up;  // the stop came before it began
      return 0;
    }
    ++next_;
    longest_ns_ = std::max(longest_ns_, now_ - begun);
    if (self_.latency) take_note(kind, now_ - due);
    return 1;
  }

  void begin(std::uint64_t since) {
    if (self_.latency) self_.latency->begin();
    measured_since_ = since;
    counts_ = {};
    longest_ns_ = 0;
  }
  void end() {
    const auto pass_until = [&](std::uint64_t ns) {
      return ns < start_ns_ ? 0 : arrivals_.pass_until(static_cast<double>(ns - start_ns_));
    };
    counts_.backlog += pass_until(measured_since_);
    const std::uint64_t due_since = pass_until(now_);
    counts_.arrived += due_since;
    counts_.backlog += due_since;
    self_.arrival = counts_;
    self_.longest_ns = longest_ns_;
  }

 private:
  // Generating takes time while operations fall due, so that it is done for few of them at once,
  // some 100 ns for uniform keys.
  void generate() {
    if (next_ > 0) self_.operations->told(self_.batch, next_);
    self_.operations->fill(self_.batch, self_.batch_size.value_or(few));
    next_ = 0;
  }

  // When the next operation is due, by the clock; far away instead of beyond what it can tell.
  [[nodiscard]] std::uint64_t due_at() const {
    constexpr double century_ns = 3.2e18;
    return start_ns_ + static_cast<std::uint64_t>(std::min(arrivals_.next_ns(), century_ns));
  }

  void take_note(workload::operation kind, std::uint64_t ns) {
    if (self_.latency->untimed() == 0) {
      self_.latency->timed(kind, ns);
    } else {
      self_.latency->pass(1);
    }
  }

  worker& self_;
  task task_;
  arrival_times& arrivals_;
  std::uint64_t start_ns_;
  std::uint64_t now_ = 0;
  std::size_t next_ = 0;  // operation of the batch
  std::uint64_t measured_since_ = 0;
  arrival_counts counts_;
  std::uint64_t longest_ns_ = 0;
};

template <class Loop>
void measure_by(Loop loop, worker& self, const timetable& times, const std::stop_token& stop) {
  const std::uint64_t series_start = times.start_ns + times.warm_up_ns;
  loop.look_at_clock();
  std::uint64_t own_start = std::min(loop.now(), series_start);
  while (loop.now() < series_start && !stop.stop_requested()) {
    loop.step_until(series_start, self.warmed_up);
    own_start = loop.now();
  }

  // Some microseconds of system calls. They count as measured time, so that they are no gap.
  self.meter->start();
  const std::uint64_t processor_start = processor_time_ns();
  if (self.probes) probe::begin_recording(*std::move(self.probes));
  loop.begin(own_start);
  std::size_t slot = 0;
  std::uint64_t slot_end = series_start + times.interval_ns;
  loop.look_at_clock();
  while (!stop.stop_requested()) {
    const std::size_t performed = loop.step(self.measured);
    while (loop.now() >= slot_end && slot + 1 < self.series.size()) {
      ++slot;
      slot_end += times.interval_ns;
    }
    self.series[slot] += performed;
  }
  self.measured_ns = loop.now() - own_start;
  self.processor_ns = processor_time_ns() - processor_start;
  if (self.probes) self.probes = probe::end_recording();
  self.meter->stop();
  loop.end();
}

}  // namespace

void measure(worker& self, const timetable& times, std::uint64_t salt,
             const std::stop_token& stop) {
  task task{.salt = salt, .fold = self.fold, .stop = stop};
  if (self.arrivals) {
    measure_by(open_loop(self, std::move(task), times.start_ns), self, times, stop);
  } else {
    measure_by(closed_loop(self, std::move(task)), self, times, stop);
  }
}

void time_generation(worker& self) {
  // As many operations at once as were measured, up to what a closed loop grows to.
  const std::size_t size = self.batch_size.value_or(
      self.arrivals ? open_loop::few : workload::operation_batch::capacity);
  const std::size_t batches = 64 * workload::operation_batch::capacity / size;
  std::array<std::uint64_t, 5> rounds;
  for (auto& round : rounds) {
    const std::uint64_t start = processor_time_ns();
    for (std::size_t i = 0; i < batches; ++i) {
      self.operations->fill(self.batch, size);
      self.operations->told(self.batch, self.batch.size);
    }
    round = processor_time_ns() - start;
  }
  // The median, so that an interrupt or a cold cache does not count.
  std::nth_element(rounds.begin(), rounds.begin() + rounds.size() / 2, rounds.end());
  self.generation_ns =
      static_cast<double>(rounds[rounds.size() / 2]) / static_cast<double>(batches * size);
}

}  // namespace assay::trial
