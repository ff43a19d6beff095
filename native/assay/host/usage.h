// What a thread used of the machine during a measured interval, and what the process holds of
// memory.
//
// A number is worth little without the reason for it: a slow trial whose thread was moved twice, or
// that faulted on 20,000 pages, says nothing about the map. Each worker thread has its own meter,
// and the meters' readings are merged afterwards:
//
//     thread_meter meter;      // in the thread that is measured: opens its counters
//     meter.start();
//     ...                      // the measured interval: the meter makes no system call here
//     meter.stop();
//     total.merge(meter.reading());
//
// Under valgrind's callgrind, which counts instructions and simulates caches where the processor
// has no counters, that tool collects between `start` and `stop` too, if it was started with
// --collect-atstart=no, and nowhere else. Started with --instr-atstart=no as well, it leaves alone
// what comes before `begin_simulation` and after `end_simulation`, which makes that several times
// as fast.

#ifndef ASSAY_HOST_USAGE_H_
#define ASSAY_HOST_USAGE_H_

#include <sys/resource.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::host {

// One event counter over an interval. The kernel shares the processor's few counters among events,
// so that each may have counted during a part of the interval only.
struct counter {
  std::uint64_t counted = 0;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;

  // The share of the interval during which the event was really counted.
  double running_share() const;
  // The number of events, scaled up by that share.
  double count() const;
};

struct usage {
  // cycles, instructions, cache_misses and branch_misses (in user mode), migrations, and the events
  // that the meter was asked for: each is in one of these two, by name, with the reason where it
  // could not be counted.
  std::map<std::string, counter> counters;
  std::map<std::string, std::string> unavailable;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  // How long the thread could have run but had no processor; nothing where the kernel does not
  // tell.
  std::optional<std::uint64_t> waited_ns;

  // Adds what another thread used. What either lacks is lacking in the sum.
  void merge(const usage& other);
};

// What an event of libpfm's is called in a reading, and in the names of metrics: in lower case,
// with _ for all that separates, and without perf::, the kernel's own events, which need no prefix.
// L1-dcache-load-misses is l1_dcache_load_misses.
[[nodiscard]] std::string event_name(std::string_view libpfm_name);

// The events that libpfm knows on this machine, which need no prefix there. It knows all of the
// kernel's, whether or not the processor counts them.
[[nodiscard]] std::vector<std::string> known_events();

// Between these callgrind simulates the caches, of all threads: to be called before what is to fill
// them, such as a warm-up, and after all meters have stopped. Nothing without valgrind.
void begin_simulation();
void end_simulation();

// Meters the thread that constructed it. Not copyable: it owns the thread's counters.
class thread_meter {
 public:
  // `events` are counted in addition to the usual ones, by libpfm's names and with its modifiers.
  // Hardware events count in user mode and software events, which happen in the kernel, in both,
  // unless a modifier says otherwise.
  explicit thread_meter(std::span<const std::string> events = {});
  ~thread_meter();
  thread_meter(const thread_meter&) = delete;
  thread_meter& operator=(const thread_meter&) = delete;

  // Called once each, in this order, by the thread that constructed the meter. `stop` closes what
  // is open: a process may have few files open.
  void start();
  void stop();

  // What was used between the two. Any thread may ask once `stop` has returned.
  const usage& reading() const { return usage_; }

 private:
  void open_counter_of(const std::string& name, const char* pfm_name, unsigned long modes);
  void close_counters();

  struct open_counter {
    std::string name;
    int descriptor;
  };

  std::optional<std::uint64_t> waited_so_far() const;

  std::vector<open_counter> open_;
  int schedstat_;
  std::optional<std::uint64_t> waited_before_;
  rusage before_{};
  usage usage_;
};

// Memory that the process has in RAM now, and the most that it ever had, in bytes.
// Throws std::runtime_error if the kernel does not tell.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

}  // namespace assay::host

#endif  // ASSAY_HOST_USAGE_H_
