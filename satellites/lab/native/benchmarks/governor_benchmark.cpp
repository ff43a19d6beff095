// What does a governor of frequencies cost: a decision, and a sample of a machine with 64
// processors?
//
// Decisions are the adaptive governor's, for one domain of a simulated machine whose workload has
// phases. How many processors are active is told as a real machine tells it, in whole ticks of
// each: nearly every interval has another number. A sample is what a real platform reads, from
// files made for it, which the kernel keeps in memory, and from counters of the kernel: two of
// software, of this processor, as often as there are processors. Counters of another processor take
// longer, as it is interrupted to read them; how long, in a virtual machine, says more of its host
// than of the governor, so that is measured by itself.

#include <linux/perf_event.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "assay/fixture/benchmark.h"
#include "assay/fixture/turns.h"
#include "assay/governor/adaptive_governor.h"
#include "assay/governor/real_platform.h"
#include "assay/random/splitmix64.h"
#include "evaluation/simulated_run.h"
#include "evaluation/simulated_workloads.h"

namespace {

using namespace assay;

constexpr unsigned processors = 64;

double ns_of_this_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

// What the clock itself adds between two looks at it: about a microsecond in a virtual machine.
double ns_of_clock() {
  constexpr int looks = 10'000;
  double sum = 0;
  for (int i = 0; i < looks; ++i) {
    const double begun = ns_of_this_thread();
    sum += ns_of_this_thread() - begun;
  }
  return sum / looks;
}

// What a real machine tells of an interval in place of a simulated one. A governor wakes up to 4 ms
// late, where all processors are busy; and /proc/stat counts whole ticks of each processor, of
// which the interval begins and ends anywhere between two.
class ticks_of_processors {
 public:
  explicit ticks_of_processors(std::uint64_t seed) : random_(seed) {}

  energy::interval counted(energy::interval of) {
    const double elsewhere = of.active_in_machine - of.active_processors;
    of.seconds += 0.004 * share();
    of.active_processors = counted(of.active_processors, of.seconds);
    of.active_in_machine = of.active_processors + counted(elsewhere, of.seconds);
    return of;
  }

 private:
  static constexpr double tick = 0.01;  // seconds

  double share() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

  double counted(double active, double seconds) {
    double ticks = 0;
    const int busy = static_cast<int>(std::ceil(active - 1e-6));  // the last one for a part of it
    for (int i = 0; i < busy; ++i) {
      ticks += std::floor(std::min(active - i, 1.0) * seconds / tick + share());
    }
    return ticks * tick / seconds;
  }

  random::splitmix64 random_;
};

// Passes on what was seen, in ticks, and takes the time of the decisions on this processor.
class timed_governor final : public energy::governor {
 public:
  timed_governor(const energy::training& trained, const energy::adaptive_options& options,
                 std::uint64_t seed)
      : governor_(trained, options), ticks_(seed) {}

  energy::decision first() override { return governor_.first(); }
  energy::decision next(const energy::interval& last) override {
    const energy::interval seen = ticks_.counted(last);
    const double begun = ns_of_this_thread();
    energy::decision made = governor_.next(seen);
    took_ += ns_of_this_thread() - begun;
    ++decisions_;
    return made;
  }

  [[nodiscard]] double ns_each() const {
    if (decisions_ == 0) throw std::logic_error("no decision was due");
    return took_ / static_cast<double>(decisions_) - ns_of_clock();
  }

 private:
  energy::adaptive_governor governor_;
  ticks_of_processors ticks_;
  double took_ = 0;
  std::uint64_t decisions_ = 0;
};

double ns_of_decision(const energy::simulated_bench& bench, const energy::adaptive_options& options,
                      std::uint64_t seed) {
  energy::simulated_machine machine(bench.hardware(), seed);
  std::vector<std::unique_ptr<timed_governor>> governors;
  std::vector<energy::governor*> pointers;
  for (std::size_t i = 0; i < machine.domains().size(); ++i) {
    governors.push_back(
        std::make_unique<timed_governor>(bench.trained(), options, random::derive_seed(seed, i)));
    pointers.push_back(governors.back().get());
  }
  machine.run(energy::simulated_workload_named("ua"));
  energy::govern(machine, pointers, [&] { return machine.idle(); });
  return governors.front()->ns_each();
}

std::unique_ptr<energy::processor_counters> software_counters(unsigned processor) {
  return energy::open_events(processor, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
                             PERF_COUNT_SW_CONTEXT_SWITCHES);
}

class kernel_of_64 final : public energy::kernel {
 public:
  using kernel::kernel;

  std::unique_ptr<energy::processor_counters> open_counters(unsigned /*processor*/) override {
    return software_counters(0);
  }
};

class made_files {
 public:
  made_files() {
    std::string name = (std::filesystem::temp_directory_path() / "assay-governor-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), name);
    }
    root_ = name;
    std::string stat = "cpu  9 9 9 9 9 9 9 0 0 0\n";
    for (unsigned number = 0; number < processors; ++number) {
      const std::string policy =
          "sys/devices/system/cpu/cpufreq/policy" + std::to_string(number) + "/";
      write(policy + "affected_cpus", std::to_string(number));
      write(policy + "related_cpus", std::to_string(number));
      write(policy + "scaling_driver", "acpi-cpufreq");
      write(policy + "scaling_governor", "userspace");
      write(policy + "scaling_available_frequencies", "3000000 2000000 1000000");
      write(policy + "scaling_min_freq", "1000000");
      write(policy + "scaling_max_freq", "3000000");
      write(policy + "scaling_setspeed", "1000000");
      stat += "cpu" + std::to_string(number) +
              " 10132153 290696 3084719 46828483 16683 0 25195 0 0 0\n";
    }
    write("sys/devices/system/cpu/online", "0-" + std::to_string(processors - 1));
    write("proc/stat", stat);
    const std::string zone = "sys/class/powercap/intel-rapl:0/";
    write(zone + "name", "package-0");
    write(zone + "max_energy_range_uj", "262143328850");
    write(zone + "energy_uj", "9000000");
  }
  made_files(const made_files&) = delete;
  made_files& operator=(const made_files&) = delete;
  ~made_files() {
    std::error_code left;
    std::filesystem::remove_all(root_, left);
  }

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  void write(const std::string& place, const std::string& text) const {
    const std::filesystem::path file = root_ / place;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }

  std::filesystem::path root_;
};

double ns_of_sample(energy::real_platform& machine) {
  constexpr int samples = 100;
  const double begun = ns_of_this_thread();
  for (int i = 0; i < samples; ++i) {
    if (machine.read().domains.size() != processors) throw std::logic_error("a domain is missing");
  }
  return (ns_of_this_thread() - begun) / samples;
}

double ns_of_counters(unsigned processor) {
  constexpr int reads = 1'000;
  const auto counters = software_counters(processor);
  const double begun = ns_of_this_thread();
  for (int i = 0; i < reads; ++i) static_cast<void>(counters->read());
  return (ns_of_this_thread() - begun) / reads;
}

void stay_on_processor_0() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    throw std::system_error(errno, std::generic_category(), "processor 0");
  }
}

fixture::figures measure(const fixture::settings& settings) {
  fixture::turns all;
  std::vector<std::unique_ptr<energy::simulated_bench>> benches;
  for (const char* name : {"xeon", "server"}) {
    benches.push_back(std::make_unique<energy::simulated_bench>(
        energy::simulated_hardware_named(name), settings.seed));
    const energy::simulated_bench& bench = *benches.back();
    all.add("decision", std::string("listing 3.1, ") + name,
            [&bench](std::uint64_t seed) { return ns_of_decision(bench, {.exponent = 1}, seed); });
    all.add("decision", std::string("adaptive, ") + name, [&bench](std::uint64_t seed) {
      return ns_of_decision(bench, energy::improved(1), seed);
    });
  }
  stay_on_processor_0();
  const made_files files;
  energy::real_platform machine(std::make_unique<kernel_of_64>(files.root()));
  all.add("sample", "64 processors", [&machine](std::uint64_t) { return ns_of_sample(machine); });
  all.add("counters", "this processor", [](std::uint64_t) { return ns_of_counters(0); });
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
    all.add("counters", "another one", [](std::uint64_t) { return ns_of_counters(1); });
  }
  return all.run(settings.rounds, settings.seed);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli("Measures what a governor of frequencies costs, in nanoseconds.");
  return fixture::run_benchmark(cli, argc, argv, 11, measure);
}
