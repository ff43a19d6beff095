#include "assay/host/usage.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef ASSAY_VALGRIND
#include <valgrind/callgrind.h>
#else
// Its headers were not there: see CMakeLists.txt.
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

namespace assay::host {
namespace {

struct event {
  std::string_view name;
  const char* pfm_name;
  unsigned long modes;  // in which the event is counted
};

// Hardware events in user mode only: the kernel's part needs rights that a user rarely has, and is
// not what is compared. Migrations happen in the kernel.
constexpr std::array always = {
    event{"cycles", "perf::CYCLES", PFM_PLM3},
    event{"instructions", "perf::INSTRUCTIONS", PFM_PLM3},
    event{"cache_misses", "perf::CACHE-MISSES", PFM_PLM3},
    event{"branch_misses", "perf::BRANCH-MISSES", PFM_PLM3},
    event{"migrations", "perf::CPU-MIGRATIONS", PFM_PLM0 | PFM_PLM3},
};

using encoded = std::variant<perf_event_attr, std::string>;  // or why there are no attributes

int initialise_libpfm() {
  static const int result = pfm_initialize();
  return result;
}

encoded encode(const char* pfm_name, unsigned long modes) {
  static std::mutex one_at_a_time;  // nothing says that libpfm may be asked by several threads
  const std::scoped_lock lock(one_at_a_time);
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  pfm_perf_encode_arg_t argument{};
  argument.attr = &attributes;
  argument.size = sizeof argument;
  int result = initialise_libpfm();
  if (result == PFM_SUCCESS) {
    result =
        pfm_get_os_event_encoding(pfm_name, static_cast<int>(modes), PFM_OS_PERF_EVENT, &argument);
  }
  if (result != PFM_SUCCESS) return std::string("libpfm: ") + pfm_strerror(result);
  attributes.disabled = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return attributes;
}

std::string paranoia() {
  std::string level;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
  return level.empty() ? "" : " (perf_event_paranoid is " + level + ")";
}

std::string reason_not_opened(int error, bool hardware) {
  std::string reason = "perf_event_open: " + std::generic_category().message(error);
  if (error == EACCES || error == EPERM) {
    reason += paranoia();
  } else if (hardware && (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)) {
    reason += " (this machine has no hardware counters)";
  }
  return reason;
}

std::uint64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  if (!status) {
    throw std::runtime_error("/proc/self/status cannot be opened: " +
                             std::generic_category().message(errno));
  }
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) {
      return std::stoull(line.substr(field.size())) * 1024;  // the kernel writes "VmRSS:   123 kB"
    }
  }
  throw std::runtime_error("/proc/self/status has no line " + std::string(field));
}

}  // namespace

double counter::running_share() const {
  return enabled_ns == 0 ? 0 : static_cast<double>(running_ns) / static_cast<double>(enabled_ns);
}

double counter::count() const {
  return running_ns == 0 ? 0 : static_cast<double>(counted) / running_share();
}

void usage::merge(const usage& other) {
  minor_faults += other.minor_faults;
  major_faults += other.major_faults;
  voluntary_switches += other.voluntary_switches;
  involuntary_switches += other.involuntary_switches;
  waited_ns =
      waited_ns && other.waited_ns ? std::optional(*waited_ns + *other.waited_ns) : std::nullopt;
  for (const auto& [name, theirs] : other.counters) {
    counter& ours = counters[name];
    ours.counted += theirs.counted;
    ours.enabled_ns += theirs.enabled_ns;
    ours.running_ns += theirs.running_ns;
  }
  unavailable.insert(other.unavailable.begin(), other.unavailable.end());
  for (const auto& [name, reason] : unavailable) {
    counters.erase(name);
  }
}

std::string event_name(std::string_view libpfm_name) {
  constexpr std::string_view of_the_kernel = "perf::";
  std::string name;
  for (const char c : libpfm_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
    if (libpfm_name.starts_with(of_the_kernel) && name == "perf_") name.clear();
  }
  return name;
}

std::vector<std::string> known_events() {
  std::vector<std::string> names;
  if (initialise_libpfm() != PFM_SUCCESS) return names;
  int number = 0;
  pfm_for_all_pmus(number) {
    pfm_pmu_info_t pmu{};
    pmu.size = sizeof pmu;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(number), &pmu) != PFM_SUCCESS || !pmu.is_present)
      continue;
    for (int event = pmu.first_event; event != -1; event = pfm_get_event_next(event)) {
      pfm_event_info_t info{};
      info.size = sizeof info;
      if (pfm_get_event_info(event, PFM_OS_PERF_EVENT, &info) == PFM_SUCCESS) {
        names.emplace_back(info.name);
      }
    }
  }
  return names;
}

void begin_simulation() { CALLGRIND_START_INSTRUMENTATION; }

void end_simulation() { CALLGRIND_STOP_INSTRUMENTATION; }

thread_meter::thread_meter(std::span<const std::string> events)
    : schedstat_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {
  for (const event& each : always) {
    open_counter_of(std::string(each.name), each.pfm_name, each.modes);
  }
  for (const std::string& each : events) {
    const std::string name = event_name(each);
    if (std::ranges::find(always, name, &event::name) != always.end()) continue;
    const encoded in_user_mode = encode(each.c_str(), PFM_PLM3);
    const auto* attributes = std::get_if<perf_event_attr>(&in_user_mode);
    const bool software = attributes != nullptr && attributes->type == PERF_TYPE_SOFTWARE;
    open_counter_of(name, each.c_str(), software ? PFM_PLM0 | PFM_PLM3 : PFM_PLM3);
  }
}

void thread_meter::open_counter_of(const std::string& name, const char* pfm_name,
                                   unsigned long modes) {
  encoded event = encode(pfm_name, modes);
  if (auto* reason = std::get_if<std::string>(&event)) {
    usage_.unavailable[name] = std::move(*reason);
    return;
  }
  auto& attributes = std::get<perf_event_attr>(event);
  // The calling thread, on whatever processor it runs.
  const long descriptor =
      syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (descriptor < 0) {
    usage_.unavailable[name] = reason_not_opened(errno, attributes.type != PERF_TYPE_SOFTWARE);
  } else {
    open_.push_back({name, static_cast<int>(descriptor)});
  }
}

thread_meter::~thread_meter() { close_counters(); }

void thread_meter::close_counters() {
  for (const open_counter& each : open_) {
    close(each.descriptor);
  }
  open_.clear();
  if (schedstat_ >= 0) close(schedstat_);
  schedstat_ = -1;
}

// The second number of the file. The first, how long the thread ran, is as old as the last tick.
std::optional<std::uint64_t> thread_meter::waited_so_far() const {
  std::array<char, 96> text{};
  if (schedstat_ < 0 || pread(schedstat_, text.data(), text.size() - 1, 0) <= 0) return {};
  char* end = text.data();
  std::strtoull(end, &end, 10);
  return std::strtoull(end, &end, 10);
}

void thread_meter::start() {
  getrusage(RUSAGE_THREAD, &before_);
  waited_before_ = waited_so_far();
  for (const open_counter& each : open_) {
    ioctl(each.descriptor, PERF_EVENT_IOC_ENABLE, 0);
  }
  CALLGRIND_TOGGLE_COLLECT;  // of this thread alone; a few idle instructions without valgrind
}

void thread_meter::stop() {
  CALLGRIND_TOGGLE_COLLECT;
  for (const open_counter& each : open_) {
    ioctl(each.descriptor, PERF_EVENT_IOC_DISABLE, 0);
  }
  if (const auto waited = waited_so_far(); waited && waited_before_) {
    usage_.waited_ns = *waited - *waited_before_;
  }
  rusage after{};
  getrusage(RUSAGE_THREAD, &after);
  const auto used = [](long since, long until) {
    return static_cast<std::uint64_t>(until - since);
  };
  usage_.minor_faults = used(before_.ru_minflt, after.ru_minflt);
  usage_.major_faults = used(before_.ru_majflt, after.ru_majflt);
  usage_.voluntary_switches = used(before_.ru_nvcsw, after.ru_nvcsw);
  usage_.involuntary_switches = used(before_.ru_nivcsw, after.ru_nivcsw);
  for (const open_counter& each : open_) {
    counter read_back;
    if (read(each.descriptor, &read_back, sizeof read_back) != sizeof read_back) {
      usage_.unavailable[each.name] =
          "the kernel closed the counter: " + std::generic_category().message(errno);
    } else if (read_back.running_ns == 0) {
      usage_.unavailable[each.name] =
          "it never got one of the processor's counters during the interval";
    } else {
      usage_.counters[each.name] = read_back;
    }
  }
  close_counters();
}

std::uint64_t resident_bytes() { return status_bytes("VmRSS:"); }

// Not getrusage's ru_maxrss, which begins at the value of the program that started this one.
std::uint64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

}  // namespace assay::host
