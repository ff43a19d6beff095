#include "assay/trial/worker.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "assay/fixture/keep.h"
#include "assay/host/clock.h"
#include "assay/measure/ns_each.h"
#include "assay/measure/quantile.h"
#include "assay/random/splitmix64.h"
#include "assay/trial/batch_pacer.h"
#include "assay/workload/operations.h"

namespace assay::trial {
namespace {

using subject::tally;
using subject::task;
using subject::type_spec;

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

// The two loops work by steps, from one reading of the clock to another. `measure` lets them.

// As fast as possible: a step is a batch, or of one with rare operations, one of these or those up
// to the next.
class closed_loop {
 public:
  closed_loop(worker& self, task task)
      : self_(self), task_(std::move(task)), pacer_(self.batch_size) {
    self_.batch.size = 0;
  }

  [[nodiscard]] std::uint64_t now() const { return now_; }
  void look_at_clock() {
    now_ = host::now_ns();
    ++clock_reads_;
  }

  // Performs operations, at most as many as are `left`, adds what came of them to `sums`, and
  // returns how many it were.
  std::size_t step(std::uint64_t left, tally& sums) {
    if (next_ == self_.batch.size) generate();
    const std::size_t first = next_;
    const std::size_t end = self_.any_rare ? end_of_stretch() : self_.batch.size;
    const std::size_t last = first + std::min<std::uint64_t>(end - first, left);
    if (self_.latency) {
      perform_timed(last, sums);
    } else {
      perform(last, sums);
    }
    if (next_ == self_.batch.size) pacer_.took(now_ - batch_start_);
    if (next_ == self_.batch.size || next_ < last) self_.operations->feedback(self_.batch, next_);
    return next_ - first;
  }
  std::size_t step_until(std::uint64_t /*ns*/, std::uint64_t left, tally& sums) {
    return step(left, sums);
  }

  // What was done so far was the warm-up.
  void forget() {
    if (self_.latency) self_.latency->forget();
    longest_ns_ = 0;
    clock_reads_ = 0;
  }
  // All else is measured, and that it was since then.
  void begin(std::uint64_t /*since*/) {
    if (self_.latency) self_.latency->begin();
  }
  void end() {
    self_.longest_ns = longest_ns_;
    self_.clock_reads += clock_reads_;
  }

 private:
  void generate() {
    batch_start_ = now_;
    self_.operations->fill(self_.batch, pacer_.size());
    next_ = 0;
    if (self_.any_rare) look_at_clock();
  }

  [[nodiscard]] std::size_t end_of_stretch() const {
    const auto& kinds = self_.batch.kinds;
    if (workload::is_rare(kinds[next_])) return next_ + 1;
    const auto end = kinds.begin() + self_.batch.size;
    return static_cast<std::size_t>(std::find_if(kinds.begin() + next_, end, workload::is_rare) -
                                    kinds.begin());
  }

  // Performs those from the next to `last` - 1, from one reading of the clock to another, and says
  // whether all were.
  bool perform(std::size_t last, tally& sums) {
    const subject::progress done = self_.handle->perform(self_.batch, next_, last, task_, sums);
    const std::uint64_t start = now_;
    look_at_clock();
    next_ += done.performed;
    if (done.performed > 0) longest_ns_ = std::max(longest_ns_, now_ - start);
    if (done.gave_up) self_.unfinished = {self_.batch.kinds[next_], now_ - start};
    return next_ == last;
  }

  // The same in segments: runs of operations that are not timed, and each one that is.
  void perform_timed(std::size_t last, tally& sums) {
    latency_recorder& latency = *self_.latency;
    for (;;) {
      const std::size_t first = next_;
      const std::size_t segment = std::min(latency.untimed(), last - first);
      if (segment > 0) {
        const bool all = perform(first + segment, sums);
        latency.pass(next_ - first);
        if (!all) return;
      } else {
        look_at_clock();  // to take note of the last took time
      }
      if (next_ == last) return;
      const std::uint64_t start = now_;
      if (!perform(next_ + 1, sums)) return;
      latency.timed(self_.batch.kinds[next_ - 1], now_ - start);
      if (next_ == last) return;
    }
  }

  worker& self_;
  task task_;
  batch_pacer pacer_;
  std::uint64_t now_ = 0;
  std::uint64_t batch_start_ = 0;
  std::size_t next_ = 0;  // operation of the batch
  std::uint64_t longest_ns_ = 0;
  std::uint64_t clock_reads_ = 0;
};

// Each operation when it is due: a step is one operation, or a wait for one.
class open_loop {
 public:
  static constexpr std::size_t batch_size = 64;  // operations that are generated at once

  open_loop(worker& self, task task, std::uint64_t start_ns)
      : self_(self), task_(std::move(task)), arrivals_(*self.arrivals), start_ns_(start_ns) {
    self_.batch.size = 0;
  }

  [[nodiscard]] std::uint64_t now() const { return now_; }
  void look_at_clock() { now_ = host::now_ns(); }

  std::size_t step(std::uint64_t left, tally& sums) { return step_until(never, left, sums); }

  // Does not wait beyond `ns`. There is at least one `left`.
  std::size_t step_until(std::uint64_t ns, std::uint64_t /*left*/, tally& sums) {
    if (next_ == self_.batch.size) generate();
    const std::uint64_t due = due_at();
    if (now_ < due) {
      now_ = wait_until(std::min(due, ns), task_.stop);
      return 0;
    }
    const subject::progress done =
        self_.handle->perform(self_.batch, next_, next_ + 1, task_, sums);
    const std::uint64_t begun = std::exchange(now_, host::now_ns());
    if (done.performed == 0 && !done.gave_up) return 0;  // the stop came before it began
    counts_.arrived += due >= measured_since_;
    arrivals_.advance();
    const workload::operation kind = self_.batch.kinds[next_];
    if (done.gave_up) {
      self_.unfinished = {kind, now_ - begun};
      return 0;
    }
    ++next_;
    longest_ns_ = std::max(longest_ns_, now_ - begun);
    counts_.response_ns += now_ - due;
    if (self_.latency) take_note(kind, now_ - due);
    return 1;
  }

  void forget() {
    if (self_.latency) self_.latency->forget();
    measured_since_ = now_;
    counts_ = {};
    longest_ns_ = 0;
  }
  void begin(std::uint64_t since) {
    if (self_.latency) self_.latency->begin();
    measured_since_ = since;
  }
  void end() {
    if (const std::uint64_t due = due_at(); due < now_) counts_.oldest_waiting_ns = now_ - due;
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
  // Generating takes time while operations fall due, so that a batch is small:
  // some 100 ns for uniform keys.
  void generate() {
    if (next_ > 0) self_.operations->feedback(self_.batch, next_);
    self_.operations->fill(self_.batch, self_.batch_size.value_or(batch_size));
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
  std::size_t slot = 0;
  std::uint64_t slot_end = series_start + times.interval_ns;
  const auto add_to_series = [&](std::size_t performed) {
    while (loop.now() >= slot_end && slot + 1 < self.series.size()) {
      ++slot;
      slot_end += times.interval_ns;
    }
    self.series[slot] += performed;
  };

  // The processor clock is a system call, so that it is not read before every short step: up to
  // this much of the warm-up may be taken for the measured interval's.
  constexpr std::uint64_t between_readings_ns = 10'000;
  std::uint64_t processor_start = 0;
  std::uint64_t next_reading = 0;
  bool under_way = false;
  loop.look_at_clock();
  std::uint64_t own_start = std::min(loop.now(), series_start);
  // In a replay each ends by its operations, and not by time. Other trials never reach that number.
  const auto [in_warm_up, in_measured] = self.exactly.value_or(operation_counts{never, never});
  const std::uint64_t warm_up_end = self.exactly ? never : series_start;
  std::uint64_t left = in_warm_up;
  while (left > 0 && loop.now() < warm_up_end && !stop.stop_requested()) {
    own_start = loop.now();
    if (own_start >= next_reading) {
      processor_start = host::processor_time_ns();
      next_reading = own_start + between_readings_ns;
    }
    loop.forget();
    tally sums;
    const std::size_t performed = loop.step_until(warm_up_end, left, sums);
    left -= performed;
    under_way = loop.now() >= warm_up_end && (performed > 0 || self.unfinished);
    if (under_way) {
      self.measured += sums;
      add_to_series(performed);
    } else {
      self.warmed_up += sums;
      own_start = loop.now();
    }
  }

  // Some microseconds of system calls. They count as measured time, so that they are not a gap, but
  // not as processor time of the operations.
  const std::uint64_t pause = host::processor_time_ns();
  if (!under_way) {
    processor_start = pause;
    loop.forget();
  }
  self.meter->start();
  if (self.probes) probe::begin_recording(*std::move(self.probes));
  loop.begin(own_start);
  processor_start += host::processor_time_ns() - pause;
  loop.look_at_clock();
  left = in_measured;
  while (left > 0 && !stop.stop_requested()) {
    const std::size_t performed = loop.step(left, self.measured);
    left -= performed;
    add_to_series(performed);
  }
  self.measured_ns = loop.now() - own_start;
  self.processor_ns = host::processor_time_ns() - processor_start;
  if (self.probes) self.probes = probe::end_recording();
  self.meter->stop();
  loop.end();
  if (self.unfinished) self.longest_ns = std::max(self.longest_ns, self.unfinished->age_ns);
}

}  // namespace

void measure(worker& self, const timetable& times, std::uint64_t salt,
             const std::stop_token& stop) {
  task task{
      .salt = salt, .fold = self.fold, .stop = stop, .seen = self.seen ? &*self.seen : nullptr};
  if (self.arrivals) {
    measure_by(open_loop(self, std::move(task), times.start_ns), self, times, stop);
  } else {
    measure_by(closed_loop(self, std::move(task)), self, times, stop);
  }
}

void search_last_keys(worker& self) {
  for (std::size_t i = 0; i < self.batch.size; ++i) {
    const std::uint64_t key = self.batch.keys[i];
    const subject::answer found = self.handle->ask({.kind = workload::operation::find, .key = key});
    self.at_rest.push_back({key, std::get<std::optional<std::uint64_t>>(found)});
  }
}

namespace {

// Makes strings of numbers if `type` is strings; numbers of other types cost nothing to make.
class string_maker {
 public:
  explicit string_maker(const type_spec& type) {
    if (type.type == type_spec::kind::bytes) codec_.emplace(type);
  }
  void make(std::uint64_t number) {
    if (codec_) fixture::keep(codec_->encode(number));
  }
  [[nodiscard]] bool makes() const { return codec_.has_value(); }

 private:
  std::optional<subject::codec<std::string>> codec_;
};

void make_strings(const workload::operation_batch& batch, string_maker& keys,
                  string_maker& values) {
  for (std::size_t i = 0; i < batch.size; ++i) {
    keys.make(batch.keys[i]);
    if (batch.kinds[i] == workload::operation::insert) values.make(random::mix64(batch.keys[i]));
  }
}

}  // namespace

void time_generation(worker& self, const type_spec& key, const type_spec& value) {
  string_maker keys(key);
  string_maker values(value);
  const bool has_strings = keys.makes() || values.makes();
  // As many operations at once as were measured, up to what a closed loop grows to.
  const std::size_t size = self.batch_size.value_or(
      self.arrivals ? open_loop::batch_size : workload::operation_batch::capacity);
  const std::size_t batches = 64 * workload::operation_batch::capacity / size;
  std::vector<double> rounds(5);
  for (double& ns : rounds) {
    ns = measure::ns_each(
        batches * size,
        [&] {
          for (std::size_t i = 0; i < batches; ++i) {
            self.operations->fill(self.batch, size);
            if (has_strings) make_strings(self.batch, keys, values);
            self.operations->feedback(self.batch, self.batch.size);
          }
        },
        host::processor_time_ns);
  }
  self.generation_ns = measure::median(std::move(rounds));
}

}  // namespace assay::trial
