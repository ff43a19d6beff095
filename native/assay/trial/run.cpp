#include "assay/trial/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/host/clock.h"
#include "assay/host/clock_quality.h"
#include "assay/host/energy.h"
#include "assay/host/placement.h"
#include "assay/host/usage.h"
#include "assay/locks/elision.h"
#include "assay/measure/common_start.h"
#include "assay/measure/crew.h"
#include "assay/measure/process.h"
#include "assay/measure/report.h"
#include "assay/probe/recording.h"
#include "assay/random/engine.h"
#include "assay/trial/latency.h"
#include "assay/trial/metrics.h"
#include "assay/trial/phase.h"
#include "assay/trial/prefill.h"
#include "assay/trial/steps.h"
#include "assay/trial/validation.h"
#include "assay/trial/worker.h"
#include "assay/workload/generator.h"
#include "assay/workload/operations.h"
#include "assay/workload/streams.h"

namespace assay::trial {
namespace {

using subject::structure;
using subject::subject_entry;
using subject::type_spec;

// Calls `work` and says how long it took.
template <class Work>
double milliseconds(Work work) {
  const std::uint64_t start = host::now_ns();
  work();
  return static_cast<double>(host::now_ns() - start) / 1e6;
}

// Threads are numbered through the roles in order.
void assign_roles(std::span<worker> workers, std::span<const role> roles) {
  auto next = workers.begin();
  for (std::size_t role = 0; role < roles.size(); ++role) {
    for (unsigned i = 0; i < roles[role].threads; ++i, ++next) {
      next->role = role;
      next->place = {i, roles[role].threads};
      next->fold = roles[role].fold;
    }
  }
}

// The operations that every map has, and any other that a mix names.
std::vector<workload::operation> kinds_of(std::span<const role> roles) {
  constexpr std::size_t everywhere = 3;
  std::vector<workload::operation> kinds;
  for (std::size_t kind = 0; kind < workload::operation_kinds; ++kind) {
    const auto is_named = [&](const role& role) { return role.work.mix.shares()[kind] > 0; };
    if (kind < everywhere || std::ranges::any_of(roles, is_named)) {
      kinds.push_back(static_cast<workload::operation>(kind));
    }
  }
  return kinds;
}

// Why a replay would not perform the same operations again; empty if it would.
std::string not_replayable_because(const request& request, std::span<const worker> workers) {
  std::string why = random::not_replayable_because(request.roles[0].work.engine, request.threads());
  const auto add = [&](const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; };
  const auto batches_as_time_has_it = [&](const role& role) {
    return role.work.keys.kind == workload::distribution_kind::latest && !request.batch &&
           !role.arrivals;
  };
  if (std::ranges::any_of(request.roles, batches_as_time_has_it)) {
    add("the latest keys are those of the batches before, whose lengths depend on time unless the "
        "request gives them (batch)");
  }
  if (request.phase && request.threads() > 1 && request.phase->what != phase::kind::load &&
      request.prefill.filled_by.value_or(filling::method::updates) == filling::method::updates) {
    add("which keys the phase is about depends on how the threads met that filled the map");
  }
  const auto first = std::ranges::find_if(
      workers, [](const worker& worker) { return worker.unfinished.has_value(); });
  if (first != workers.end()) {
    add("thread " + std::to_string(first - workers.begin()) + " gave up an operation (" +
        subject::to_string(first->unfinished->operation) + ") when time was over");
  }
  return why;
}

// Destroys the threads' handles, each in the thread that attached it, also when a phase has failed.
class detach_at_end {
 public:
  detach_at_end(measure::crew& threads, std::span<worker> workers)
      : threads_(threads), workers_(workers) {}
  ~detach_at_end() {
    threads_.run([this](unsigned i) { workers_[i].handle.reset(); });
  }
  detach_at_end(const detach_at_end&) = delete;
  detach_at_end& operator=(const detach_at_end&) = delete;

 private:
  measure::crew& threads_;
  std::span<worker> workers_;
};

// What the main thread sees while the others measure.
struct observed {
  std::vector<memory_report::moment> resident;
  host::energy energy;
};

memory_report::moment resident_since(std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double, std::milli> since = std::chrono::steady_clock::now() - start;
  return {since.count(), host::resident_bytes()};
}

// Waits until the measured interval of `duration`, which begins at `start`, is over. Reads the
// memory in RAM at up to 30 even moments of it, no closer than 10 ms: a reading takes 10 us of a
// processor that may be measuring, so that all are at most 0.1% of one.
observed observe_until_end(std::chrono::steady_clock::time_point start,
                           std::chrono::nanoseconds duration) {
  using namespace std::chrono_literals;
  constexpr std::int64_t most = 30;
  const std::int64_t parts = std::clamp<std::int64_t>(duration / 10ms, 1, most);
  observed seen;
  host::energy_meter energy;
  std::this_thread::sleep_until(start);
  energy.start();
  for (std::int64_t i = 0; i < parts; ++i) {
    std::this_thread::sleep_until(start + i * duration / parts);
    seen.resident.push_back(resident_since(start));
  }
  std::this_thread::sleep_until(start + duration);
  seen.energy = energy.stop();
  return seen;
}

// The same of a phase, which ends by itself.
observed observe_phase(measure::crew& threads, std::chrono::steady_clock::time_point start) {
  observed seen;
  host::energy_meter energy;
  std::this_thread::sleep_until(start);
  energy.start();
  seen.resident.push_back(resident_since(start));
  threads.wait();
  seen.energy = energy.stop();
  return seen;
}

// Gives threads what they need to measure: everything that allocates or makes a system call. Before
// the map is built, so that what memory grows by from there on is the map's.
void prepare(measure::crew& threads, std::span<worker> workers, const request& request,
             const subject::value_rules& rules) {
  // A phase lasts as long as it takes, and is not the same throughout.
  const auto full_intervals =
      request.phase ? 0 : static_cast<std::size_t>(request.duration / request.interval);
  threads.run([&](unsigned i) {
    worker& self = workers[i];
    const role& role = request.roles[self.role];
    self.seen.emplace(rules, i);
    self.operations = workload::make_generator(
        rules.space(), role.work, random::derive_seed(self.seed, workload::measured_stream),
        self.place);
    self.batch_size = request.batch;
    self.any_rare = workload::any_rare(role.work.mix);
    if (request.latency > 0) {
      self.latency.emplace(request.latency, role.work.mix,
                           random::derive_seed(self.seed, workload::latency_stream));
    }
    if (role.arrivals) {
      self.arrivals.emplace(*role.arrivals, self.place,
                            random::derive_seed(self.seed, workload::arrivals_stream));
    }
    if (request.probes) self.probes.emplace();
    if (!request.operations.empty()) self.exactly = request.operations[i];
    self.series.resize(full_intervals + 1);
    self.meter.emplace(request.events);
  });
}

// The warm-up and the measured interval of all threads.
observed measure_together(measure::crew& threads, std::span<worker> workers, const request& request,
                          std::uint64_t salt) {
  using std::chrono::nanoseconds;
  const auto in_ns = [](nanoseconds time) { return static_cast<std::uint64_t>(time.count()); };
  host::begin_simulation();
  measure::common_start common_start(workers.size() + 1);
  std::stop_source stop;
  threads.start([&](unsigned i) {
    worker& self = workers[i];
    const timetable times{.start_ns = common_start.arrive(),
                          .warm_up_ns = in_ns(request.warm_up),
                          .interval_ns = in_ns(request.interval)};
    measure(self, times, salt, stop.get_token());
    self.last_ran_on = host::last_ran_on();
  });
  const std::chrono::steady_clock::time_point start{nanoseconds(common_start.arrive())};
  observed seen;
  try {
    seen = request.phase ? observe_phase(threads, start)
                         : observe_until_end(start + request.warm_up, request.duration);
  } catch (...) {
    stop.request_stop();
    threads.wait();
    throw;
  }
  if (request.operations.empty()) stop.request_stop();  // a replay ends by itself
  threads.wait();
  host::end_simulation();
  seen.resident.push_back(resident_since(start + request.warm_up));
  return seen;
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

double operations_of(const result& report) {
  double operations = 0;
  for (const auto& thread : report.threads) {
    operations += static_cast<double>(thread.operations.operations());
  }
  return operations;
}

// What the values of a trial depend on in addition to their keys. The map reserves none of them.
std::uint64_t draw_salt(const request& request, const subject_entry& subject,
                        const workload::key_space& space) {
  constexpr int most_attempts = 1000;
  const bool narrow = request.value.type == type_spec::kind::uint32;
  const bool wide = request.value.type == type_spec::kind::uint64;
  // Values of fewer bits are the low ones of a number that has 64.
  const std::uint64_t greatest =
      wide ? subject.greatest_value(type_spec::kind::uint64) : UINT64_MAX;
  const auto makes = [&](std::uint64_t salt) {
    return std::ranges::any_of(subject.reserved_values, [&](std::uint64_t value) {
      if (value > greatest) return false;
      for (std::uint64_t number = value;; number += greatest + 1) {
        const std::uint64_t key = subject::key_of(number, salt);
        if (space.contains(narrow ? key & UINT32_MAX : key)) return true;
        if (number >= UINT64_MAX - greatest) return false;
      }
    });
  };
  std::uint64_t salt = random::derive_seed(request.seed, workload::salt_stream);
  for (int attempt = 0; attempt < most_attempts; ++attempt, salt = random::mix64(salt)) {
    if (!makes(salt)) return salt;
  }
  throw bad_request(
      "key_range: " + subject.name +
      " reserves a value of one of these keys, however they are drawn; ask for fewer keys");
}

type_spec drawn_as(type_spec type, const std::optional<drawing>& asked, std::uint64_t seed,
                   const std::vector<std::uint64_t>& reserved) {
  if (asked) type.drawn = draw(*asked, seed, reserved);
  return type;
}

// If values are strings, their lengths are drawn, and no number is reserved.
type_spec values_of(const request& request, const subject_entry& subject) try {
  type_spec type = request.value;
  type.bits = subject.value_bits;
  return drawn_as(type, request.values, random::derive_seed(request.seed, workload::values_stream),
                  request.value.type == type_spec::kind::bytes ? std::vector<std::uint64_t>()
                                                               : subject.reserved_values);
} catch (const std::invalid_argument& error) {
  throw bad_request("value_type: from and to leave " + std::string(error.what()) +
                    "; give a wider range");
}

}  // namespace

void require_offered(const subject_entry& subject, const request& request) {
  static_cast<void>(subject.types_for(request.key.type, request.value.type));
  if (subject.structure == structure::queue && request.keys == workload::key_layout::sparse) {
    throw bad_request(
        "keys: " + subject.name +
        " is a queue, whose keys grow with every pop by the key drawn; sparse keys would "
        "soon need more than 64 bits: ask for dense keys");
  }
  if (subject.structure != structure::map && request.values) {
    throw bad_request("value_type: " + subject.name + " is a " + to_string(subject.structure) +
                      ", each entry of which has a value of its own; leave the distribution out");
  }
  const bool numbers_are_cut =
      request.value.type == type_spec::kind::uint32 && !request.values &&
      request.key.type != type_spec::kind::uint32 &&
      (request.keys == workload::key_layout::sparse || request.key_range > UINT32_MAX);
  if (numbers_are_cut && !subject.reserved_values.empty()) {
    throw bad_request("value_type: " + subject.name +
                      " reserves values, which some of these keys would have in 32 bits; ask for "
                      "dense keys or for values of 64 bits");
  }
  const std::uint64_t greatest = subject.greatest_value(type_spec::kind::uint64);
  if (request.values && request.value.type == type_spec::kind::uint64 &&
      request.values->to > greatest) {
    throw bad_request("value_type: " + subject.name + " takes values of " +
                      std::to_string(subject.value_bits) + " bits: `to` is at most " +
                      std::to_string(greatest) + ", not " + std::to_string(request.values->to));
  }
  if (subject.holds_nothing && request.phase && request.phase->what == phase::kind::drain) {
    throw bad_request("phase: " + subject.name + " holds nothing that could be drained");
  }
  for (const auto& role : request.roles) {
    const auto shares = role.work.mix.shares();
    for (std::size_t kind = 0; kind < shares.size(); ++kind) {
      if (shares[kind] > 0) subject.require(static_cast<workload::operation>(kind));
    }
  }
}

result run(const request& request, const subject_entry& subject, const steps* changed) {
  if (subject.max_threads && request.threads() > *subject.max_threads) {
    throw bad_request("threads: " + subject.name + " takes at most " +
                      std::to_string(*subject.max_threads) + ", not " +
                      std::to_string(request.threads()));
  }
  require_offered(subject, request);
  measure::require_allocator(request.allocator);
  measure::require_transactions(request.transactions);
  sync::seed_elision(random::derive_seed(request.seed, workload::waits_stream));
  const auto offset = measure::heap_offset(request.perturbation.heap_bytes);
  if (request.probes) probe::check_declared();
  measure::bind_memory(request.memory_policy);
  const host::placement place(request.pinning, request.threads(), request.perturbation.placement);
  const workload::key_space space(request.key_range, request.keys,
                                  random::derive_seed(request.seed, workload::key_space_stream),
                                  request.key.type == type_spec::kind::uint32 ? 31 : 63);
  const std::uint64_t salt = draw_salt(request, subject, space);
  const subject::map_hints hints{
      .key_range = request.key_range,
      .threads = request.threads(),
      .key = drawn_as(request.key, request.key_lengths,
                      random::derive_seed(request.seed, workload::key_lengths_stream), {}),
      .value = values_of(request, subject)};

  const subject::value_rules rules(salt, hints.value, request.threads(), subject.reserved_values,
                                   space, subject.linearizable);
  std::vector<worker> workers(request.threads());
  assign_roles(workers, request.roles);
  const bool has_searches = subject.structure == structure::map && !subject.holds_nothing;
  std::unique_ptr<subject::any_map> map;
  result report;
  observed seen;
  double clock_ns = 0;
  {
    measure::crew threads(request.threads(),
                          measure::thread_options_of(request.threads(), request.perturbation));
    threads.run([&](unsigned i) {
      workers[i].heap_offset = measure::heap_offset(request.perturbation.heap_bytes);
      workers[i].seed = workload::thread_seed(request.seed, i);
      workers[i].bound_to = measure::pin(i, request.pinning, place);
    });
    prepare(threads, workers, request, rules);

    std::optional<phase_keys> keys;
    if (request.phase) keys.emplace(request);

    report.metrics["resident_before_bytes"] = static_cast<double>(host::resident_bytes());
    report.metrics["build_ms"] = milliseconds([&] { map = subject.build(hints); });
    const detach_at_end detach(threads, workers);
    threads.run([&](unsigned i) { workers[i].handle = map->attach(); });
    if (!subject.holds_nothing) {
      report.metrics["prefill_ms"] = milliseconds([&] {
        report.prefill =
            changed != nullptr
                ? changed->fill(threads, workers, request, space, salt, subject.structure)
                : prefill(threads, workers, request, space, salt, subject.structure);
      });
      report.metrics["prefill_threads"] = static_cast<double>(std::ranges::count_if(
          workers, [](const worker& each) { return each.prefilled.operations() > 0; }));
      double erases = 0;
      for (const worker& each : workers) {
        erases += static_cast<double>(
            each.prefilled.attempted[static_cast<std::size_t>(workload::operation::erase)]);
      }
      report.metrics["prefill_erases"] = erases;
      report.metrics["prefill_size"] = static_cast<double>(report.prefill.size);
    }
    if (changed != nullptr) {
      threads.run([&](unsigned i) { changed->before_measuring(workers[i], request, space); });
    }
    if (keys) keys->share_out(*map, subject.structure, request, space, workers);
    seen = measure_together(threads, workers, request, salt);
    if (request.phase) {
      report.metrics["phase_ms"] = static_cast<double>(end_together(workers)) / 1e6;
    }
    if (changed != nullptr) {
      threads.run([&](unsigned i) { changed->after_measuring(workers[i], request); });
    }
    // The kernel counts both in steps of some pages, and its peak can fall behind what it said
    // before.
    report.metrics["peak_resident_bytes"] = std::max(
        static_cast<double>(host::peak_resident_bytes()), report.metrics["resident_before_bytes"]);
    threads.run([&](unsigned i) {
      if (has_searches) search_last_keys(workers[i]);
    });
    threads.run([&](unsigned i) {
      time_generation(workers[i], hints.key, hints.value);
      if (i == 0) clock_ns = host::clock_cost(host::now_ns);
    });
    if (request.latency > 0) report.latency = {request.latency, clock_ns};
    report.memory = {std::move(seen.resident), measure::memory_policy()};
  }

  report.kinds = kinds_of(request.roles);
  for (const auto& role : request.roles) {
    report.roles.push_back({.name = role.name, .open_loop = role.arrivals.has_value()});
  }
  subject::tally total;
  std::vector<probe::block> recorded;
  for (auto& worker : workers) {
    total += worker.prefilled;
    total += worker.warmed_up;
    total += worker.measured;
    if (&worker == workers.data()) {
      report.usage = worker.meter->reading();
    } else {
      report.usage.merge(worker.meter->reading());
    }
    if (worker.latency) merge(report.roles[worker.role].durations, worker.latency->durations());
    if (worker.probes) recorded.push_back(*std::move(worker.probes));
    report.threads.push_back({.seed = worker.seed,
                              .role = worker.role,
                              .bound_to = worker.bound_to,
                              .last_ran_on = worker.last_ran_on,
                              .measured_ns = worker.measured_ns,
                              .processor_ns = worker.processor_ns,
                              .warmed_up = worker.warmed_up.operations(),
                              .operations = worker.measured,
                              .series = std::move(worker.series),
                              .unfinished = worker.unfinished,
                              .longest_ns = worker.longest_ns,
                              .clock_reads = worker.clock_reads,
                              .arrival = worker.arrival,
                              .generation_ns = worker.generation_ns});
  }
  report.metrics.merge(metrics_of(report.threads, report.kinds, report.usage, clock_ns));
  report.metrics.merge(metrics_of(report.roles, report.threads));
  report.metrics["engine_state_bits"] =
      random::find_engine(request.roles[0].work.engine.name).state_bits;
  if (request.probes) {
    report.probes = probe::report(recorded);
    report.metrics.merge(measure::metrics_of(*report.probes));
  }
  report.metrics["resident_end_bytes"] = static_cast<double>(report.memory.resident.back().bytes);
  report.energy = std::move(seen.energy);
  if (const auto joules = report.energy.total_joules(); joules && operations_of(report) > 0) {
    report.metrics["energy_uj_per_operation"] = *joules * 1e6 / operations_of(report);
  }
  report.not_replayable_because = not_replayable_because(request, workers);

  if (request.phase && subject.structure == structure::map) {
    if (const auto idle = idle_operations(*request.phase, workers); !idle.empty()) {
      report.problems.push_back(idle);
    }
  }
  if (!report.prefill.converged) report.problems.push_back(describe(report.prefill));
  if (!subject.holds_nothing) {
    report.metrics["validation_ms"] = milliseconds([&] {
      report.contents_check =
          validate(*map, subject.structure, total, request.seed, rules, workers);
    });
    if (report.contents_check->walk_ended) {
      report.metrics["final_size"] = static_cast<double>(report.contents_check->found.size);
    }
    report.metrics.merge(
        metrics_of(report.contents_check->shape, report.contents_check->found.size));
    if (const auto problem = report.contents_check->problem(); !problem.empty()) {
      report.problems.push_back(problem);
    }
  }
  return report;
}

}  // namespace assay::trial
