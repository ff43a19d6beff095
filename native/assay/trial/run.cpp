#include "assay/trial/run.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "assay/host/clock.h"
#include "assay/host/placement.h"
#include "assay/host/usage.h"
#include "assay/trial/crew.h"
#include "assay/trial/metrics.h"
#include "assay/trial/prefill.h"
#include "assay/trial/streams.h"
#include "assay/trial/validation.h"
#include "assay/trial/worker.h"
#include "assay/workload/generator.h"

namespace assay::trial {
namespace {

// Calls `work` and says how long it took.
template <class Work>
double milliseconds(Work work) {
  const std::uint64_t start = host::now_ns();
  work();
  return static_cast<double>(host::now_ns() - start) / 1e6;
}

host::placement place_threads(const request& request) try {
  return {request.pinning, request.threads()};
} catch (const std::invalid_argument& error) {
  throw bad_request(std::string("pinning: ") + error.what());
}

// Binds the calling thread and reads back where it was bound: a condition that was not measured
// must not be reported as one that was.
void pin(worker& self, unsigned thread_index, const host::pinning& pinning,
         const host::placement& place) {
  try {
    place.bind_this_thread(thread_index);
  } catch (const std::system_error& error) {
    throw bad_request("pinning: cannot bind thread " + std::to_string(thread_index) + ": " +
                      error.what());
  }
  self.bound_to = host::bound_to();
  if (pinning.kind == host::pinning::policy::none) return;
  const auto& processors =
      pinning.kind == host::pinning::policy::list ? pinning.processors : place.processors();
  const unsigned asked = processors[thread_index % processors.size()];
  if (self.bound_to != std::vector{asked}) {
    throw bad_request("pinning: thread " + std::to_string(thread_index) +
                      " was to be bound to processor " + std::to_string(asked) +
                      ", but the operating system did not do so");
  }
}

// Threads are numbered through the roles in order.
void assign_roles(std::span<worker> workers, std::span<const role> roles) {
  auto next = workers.begin();
  for (const auto& role : roles) {
    for (unsigned i = 0; i < role.threads; ++i, ++next) {
      next->role = &role;
      next->place = {i, role.threads};
    }
  }
}

// Destroys the threads' handles, each in the thread that attached it, also when a phase has failed.
class detach_at_end {
 public:
  detach_at_end(crew& threads, std::span<worker> workers) : threads_(threads), workers_(workers) {}
  ~detach_at_end() {
    threads_.run([this](unsigned i) { workers_[i].handle.reset(); });
  }
  detach_at_end(const detach_at_end&) = delete;
  detach_at_end& operator=(const detach_at_end&) = delete;

 private:
  crew& threads_;
  std::span<worker> workers_;
};

// The warm-up and the measured interval of all threads.
void measure_together(crew& threads, std::span<worker> workers, const request& request,
                      const workload::key_space& space, std::uint64_t salt) {
  using std::chrono::nanoseconds;
  const auto in_ns = [](nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
  timetable times{
      .start_ns = 0, .warm_up_ns = in_ns(request.warm_up), .interval_ns = in_ns(request.interval)};
  const auto full_intervals = static_cast<std::size_t>(request.duration / request.interval);

  // Everything that allocates or makes a system call, before the common start.
  threads.run([&](unsigned i) {
    worker& self = workers[i];
    self.operations = workload::make_generator(
        space, self.role->work, random::derive_seed(self.seed, measured_stream), self.place);
    self.series.resize(full_intervals + 1);
    self.meter.emplace();
  });

  std::stop_source stop;
  std::chrono::steady_clock::time_point deadline;
  std::barrier common_start(static_cast<std::ptrdiff_t>(workers.size() + 1), [&]() noexcept {
    times.start_ns = host::now_ns();
    deadline = std::chrono::steady_clock::now() + request.warm_up + request.duration;
  });
  threads.start([&](unsigned i) {
    worker& self = workers[i];
    common_start.arrive_and_wait();
    measure(self, times, salt, stop.get_token());
    self.last_ran_on = host::last_ran_on();
  });
  common_start.arrive_and_wait();
  std::this_thread::sleep_until(deadline);
  stop.request_stop();
  threads.wait();
}

std::string describe(const prefill_report& prefill) {
  std::array<char, 160> text;
  std::snprintf(
      text.data(), text.size(),
      "the prefill did not converge: after %ju operations the map holds %jd keys, expected %.1f "
      "within %.1f",
      std::uintmax_t{prefill.operations}, std::intmax_t{prefill.size}, prefill.expected_size,
      prefill.tolerance);
  return text.data();
}

}  // namespace

result run(const request& request, const subject_entry& subject) {
  if (subject.max_threads && request.threads() > *subject.max_threads) {
    throw bad_request("threads: " + subject.name + " takes at most " +
                      std::to_string(*subject.max_threads) + ", not " +
                      std::to_string(request.threads()));
  }
  require_offered(subject, request);
  const host::placement place = place_threads(request);
  const workload::key_space space(request.key_range, request.keys,
                                  random::derive_seed(request.seed, key_space_stream),
                                  request.key.type == datum::kind::uint32 ? 31 : 63);
  const std::uint64_t salt = random::derive_seed(request.seed, salt_stream);

  std::vector<worker> workers(request.threads());
  assign_roles(workers, request.roles);
  std::unique_ptr<measured_map> map;
  result report;
  {
    crew threads(request.threads());
    threads.run([&](unsigned i) {
      workers[i].seed = thread_seed(request.seed, i);
      pin(workers[i], i, request.pinning, place);
    });

    report.metrics["resident_before_bytes"] = static_cast<double>(host::resident_bytes());
    report.metrics["build_ms"] = milliseconds([&] {
      map = subject.build({request.key_range, request.threads(), request.key, request.value});
    });
    const detach_at_end detach(threads, workers);
    threads.run([&](unsigned i) { workers[i].handle = map->attach(); });
    if (!subject.holds_nothing) {
      report.metrics["prefill_ms"] =
          milliseconds([&] { report.prefill = prefill(threads, workers, request, space, salt); });
    }
    measure_together(threads, workers, request, space, salt);
    // The kernel counts both in steps of some pages, and its peak can fall behind what it said
    // before.
    report.metrics["peak_resident_bytes"] = std::max(
        static_cast<double>(host::peak_resident_bytes()), report.metrics["resident_before_bytes"]);
    threads.run([&](unsigned i) { time_generation(workers[i]); });
  }

  tally total;
  for (auto& worker : workers) {
    total += worker.prefilled;
    total += worker.warmed_up;
    total += worker.measured;
    if (&worker == workers.data()) {
      report.usage = worker.meter->reading();
    } else {
      report.usage.merge(worker.meter->reading());
    }
    report.threads.push_back({worker.seed, worker.bound_to, worker.last_ran_on, worker.measured_ns,
                              worker.processor_ns, worker.measured, std::move(worker.series),
                              worker.unfinished, worker.generation_ns});
  }
  report.metrics.merge(metrics_of(report.threads, report.usage));

  if (!report.prefill.converged) report.problems.push_back(describe(report.prefill));
  if (!subject.holds_nothing) {
    report.metrics["validation_ms"] = milliseconds(
        [&] { report.contents_check = validate(*map, space, total, request.seed, salt); });
    if (const auto problem = report.contents_check->problem(); !problem.empty()) {
      report.problems.push_back(problem);
    }
  }
  return report;
}

}  // namespace assay::trial
