#include "assay/governor/real_platform.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <ranges>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace assay::energy {
namespace {

constexpr kilohertz step = 100'000;      // where a driver has a range of frequencies and no list
constexpr double surely_counted = 0.01;  // seconds in which counters that are on say so
// Since Linux 5.3 a work queue puts limits in force, after the write of them has returned.
constexpr double between_looks = 0.001;  // seconds
constexpr int most_looks = 10;
constexpr double longest_going = 2;  // seconds in which a processor has gone offline, or has not

const std::string cpu = "/sys/devices/system/cpu";

std::string reason(const std::system_error& error) {
  return error.code().default_error_condition().message();
}

using reads = std::string (kernel::*)(const std::string&);  // read or read_again

// One that may be missing.
std::string read_if_there(kernel& of, const std::string& place, reads how = &kernel::read) try {
  return (of.*how)(place);
} catch (const std::system_error&) {
  return {};
}

std::string read_place(kernel& of, const std::string& place, reads how = &kernel::read) try {
  return (of.*how)(place);
} catch (const std::system_error& error) {
  throw platform_error(place + " cannot be read: " + reason(error));
}

std::string offline_note(unsigned number) {
  return "processor " + std::to_string(number) + " is offline: it is left out until it is back";
}

std::string going_note(unsigned number) {
  return "the counters of processor " + std::to_string(number) +
         " cannot be opened, as while it goes offline: it is left out until they can";
}

std::optional<kilohertz> as_frequency(const std::string& text) {
  kilohertz value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

kilohertz read_frequency(kernel& of, const std::string& place) {
  const std::string text = read_place(of, place);
  if (const auto found = as_frequency(text)) return *found;
  throw platform_error(place + " holds no frequency: " + text);
}

// None where it is missing or holds no number.
std::optional<double> microjoules(kernel& of, const std::string& place) {
  const std::string text = read_if_there(of, place, &kernel::read_again);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return static_cast<double>(value);
}

// Parses "0-3,8" or "0 1 2", up to the first text that is not a number.
std::vector<unsigned> numbers(std::string text) {
  std::ranges::replace(text, ',', ' ');
  std::istringstream words(text);
  std::vector<unsigned> found;
  for (std::string word; words >> word;) {
    unsigned first = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, first);
    unsigned last = first;
    if (error != std::errc{} ||
        (rest != end && std::from_chars(rest + 1, end, last).ec != std::errc{})) {
      break;
    }
    for (unsigned n = first; n <= last; ++n) found.push_back(n);
  }
  return found;
}

// Whether a line begins with this many numbers, with a space between each two.
bool take_numbers(std::string_view line, std::span<std::uint64_t> values) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::uint64_t& value : values) {
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return false;
    at = rest == end ? end : rest + 1;
  }
  return true;
}

std::vector<kilohertz> hardware_frequencies(kernel& of, const std::string& place) {
  std::vector<kilohertz> found;
  std::string all = read_if_there(of, place + "/scaling_available_frequencies");
  all += " " + read_if_there(of, place + "/scaling_boost_frequencies");
  std::istringstream listed(all);
  for (kilohertz one = 0; listed >> one;) found.push_back(one);
  if (found.empty()) {
    const kilohertz least = read_frequency(of, place + "/cpuinfo_min_freq");
    const kilohertz most = read_frequency(of, place + "/cpuinfo_max_freq");
    found = {least, most};
    for (kilohertz one = (least / step + 1) * step; one < most; one += step) found.push_back(one);
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

policy read_policy(kernel& of, const std::string& place) {
  policy found{.place = place,
               .driver = read_if_there(of, place + "/scaling_driver"),
               .governor = read_place(of, place + "/scaling_governor"),
               .by_speed = false,
               .processors = numbers(read_place(of, place + "/related_cpus")),
               .frequencies = hardware_frequencies(of, place),
               .least = read_frequency(of, place + "/scaling_min_freq"),
               .most = read_frequency(of, place + "/scaling_max_freq")};
  found.by_speed = found.governor == "userspace";
  if (found.processors.empty()) throw platform_error(place + "/related_cpus names no processor");
  return found;
}

// Within the limits, and common to all.
std::vector<kilohertz> common_frequencies(const std::vector<policy>& policies) {
  std::vector<kilohertz> common = policies.front().frequencies;
  for (const policy& one : policies) {
    std::erase_if(common, [&](kilohertz frequency) {
      return frequency < one.least || frequency > one.most ||
             !std::ranges::binary_search(one.frequencies, frequency);
    });
  }
  if (common.empty()) {
    throw platform_error("the processors have no frequency in common within their limits; raise " +
                         policies.front().place + "/scaling_max_freq and the others'");
  }
  return common;
}

}  // namespace

std::vector<policy> find_policies(kernel& of) {
  std::vector<policy> found;
  for (const std::string& name : of.list(cpu + "/cpufreq")) {
    if (!name.starts_with("policy")) continue;
    const std::string place = cpu + "/cpufreq/" + name;
    try {
      // All of its processors are offline: there is nothing to set.
      if (of.read(place + "/affected_cpus").empty()) continue;
    } catch (const std::system_error&) {
      continue;
    }
    found.push_back(read_policy(of, place));
  }
  if (found.empty()) {
    throw platform_error("there is no policy in " + cpu +
                         "/cpufreq: the kernel sets no frequencies here (in a virtual machine its "
                         "host does; else load the driver of cpufreq)");
  }
  std::ranges::sort(found, {}, [](const policy& one) { return one.processors; });
  return found;
}

std::string machine_of(kernel& of, const std::vector<policy>& policies) {
  std::string model = "unknown processor";
  std::istringstream lines(read_if_there(of, "/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
      model = line.substr(line.find(": ") + 2);
      break;
    }
  }
  std::size_t processors = 0;
  for (const policy& one : policies) processors += one.processors.size();
  const std::vector<kilohertz>& all = policies.front().frequencies;
  return model + "; " + std::to_string(processors) + " processors in " +
         std::to_string(policies.size()) + " domains; " + std::to_string(all.front()) + "-" +
         std::to_string(all.back()) + " kHz in " + std::to_string(all.size()) + " steps";
}

joule_counter::joule_counter(kernel& of)
    : kernel_(of),
      powercap_(of.root() / "sys/class/powercap", [&of](const std::filesystem::path& file) {
        return of.read_again("/" + file.lexically_relative(of.root()).string());
      }) {
  powercap_.start();
  const host::energy now = powercap_.lap();
  if (now.total_joules()) return;
  // amd_energy counts each core as well, which its socket includes.
  for (const std::string& device : of.list("/sys/class/hwmon")) {
    const std::string place = "/sys/class/hwmon/" + device;
    if (read_if_there(of, place + "/name") != "amd_energy") continue;
    for (const std::string& name : of.list(place)) {
      if (!name.starts_with("energy") || !name.ends_with("_label")) continue;
      if (!read_if_there(of, place + "/" + name).starts_with("Esocket")) continue;
      std::string input = place + "/" + name;
      input.replace(input.size() - 5, 5, "input");
      const auto now_uj = microjoules(of, input);
      if (now_uj) sockets_.push_back({input, *now_uj});
    }
  }
  if (sockets_.empty()) {
    for (const auto& [zone, why] : now.unavailable) lacking_ = why;
    if (lacking_.empty()) lacking_ = "powercap has no zone of a package";
  }
}

std::optional<double> joule_counter::read() {
  if (!lacking_.empty()) return std::nullopt;
  if (sockets_.empty()) {
    const host::energy used = powercap_.lap();
    if (const auto joules = used.total_joules()) return joules_ += *joules;
    for (const auto& [zone, why] : used.unavailable) lacking_ = why;
    return std::nullopt;
  }
  for (socket& one : sockets_) {
    const auto now_uj = microjoules(kernel_, one.place);  // 64 bits: it does not begin again
    if (!now_uj) {
      lacking_ = one.place + " cannot be read any more";
      return std::nullopt;
    }
    joules_ += std::max(*now_uj - one.before_uj, 0.0) / 1e6;
    one.before_uj = *now_uj;
  }
  return joules_;
}

real_platform::real_platform(std::unique_ptr<kernel> of, real_options options)
    : kernel_(std::move(of)),
      options_(options),
      policies_(find_policies(*kernel_)),
      machine_(machine_of(*kernel_, policies_)),
      set_(policies_.size()),
      capped_(policies_.size()),
      counts_(policies_.size()),
      joules_(*kernel_),
      began_(kernel_->now()) {
  const std::vector<kilohertz> frequencies = common_frequencies(policies_);
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    domains_.push_back({policies_[i].processors, frequencies});
    for (const unsigned number : policies_[i].processors) {
      processors_.emplace(number, processor{.domain = i});
    }
  }
  follow_processors();
  add_busy_time();
}

void real_platform::note(const std::string& text) {
  if (noted_.insert(text).second) notes_.push_back(text);
}

std::vector<std::string> real_platform::take_notes() { return std::exchange(notes_, {}); }

// Opens the counters of processors that have come online, and drops those of processors that have
// gone, whose counts stay.
void real_platform::follow_processors() {
  // A kernel without hotplug does not have this file: all are online.
  std::string online = read_if_there(*kernel_, cpu + "/online", &kernel::read_again);
  const bool waits = std::ranges::any_of(
      processors_, [](const auto& one) { return one.second.going_since.has_value(); });
  if (online == online_ && !online.empty() && !waits) return;
  const bool first = online_.empty();
  online_ = std::move(online);
  const std::vector<unsigned> now = numbers(online_);
  std::set<std::size_t> came_back;
  for (auto& [number, one] : processors_) {
    const bool here = online_.empty() || std::ranges::find(now, number) != now.end();
    if (!here && (one.counters || one.going_since || first)) {
      note(offline_note(number));
      one.counters.reset();
      one.going_since.reset();
      one.busy_before.reset();
    } else if (here && !one.counters && open(one, number)) {
      noted_.erase(offline_note(number));
      noted_.erase(going_note(number));
      if (!first) came_back.insert(one.domain);
    }
  }
  set_again(came_back);
}

// Returns false where they cannot be opened for now. The kernel takes a processor's counters away
// before it says that the processor is offline: meanwhile there is no such device. The first time,
// none is going.
bool real_platform::open(processor& of, unsigned number) {
  try {
    of.counters = kernel_->open_counters(number);
    of.before = of.counters->read();
    of.counted_at = kernel_->now();
    of.going_since.reset();
    of.was_counted = true;
    return true;
  } catch (const std::system_error& error) {
    of.counters.reset();
    const double now = kernel_->now();
    if (error.code().value() == ENODEV && of.was_counted &&
        now - of.going_since.value_or(now) <= longest_going) {
      if (!of.going_since) of.going_since = now;
      note(going_note(number));
      return false;
    }
    const bool forbidden = error.code().value() == EACCES || error.code().value() == EPERM;
    throw platform_error("instructions and cache misses of processor " + std::to_string(number) +
                         " cannot be counted: " + reason(error) +
                         (forbidden ? "; run as root, or with CAP_PERFMON"
                                    : " (a virtual machine needs a virtual PMU of its host)"));
  }
}

// Sets domains whose processors were away: the kernel may have begun with another frequency.
void real_platform::set_again(const std::set<std::size_t>& domains) {
  for (const std::size_t domain : domains) {
    if (set_[domain] != 0) set(domain, set_[domain]);
  }
}

// Returns false where they cannot be read, or stood still though time passed. A processor that goes
// offline takes its counters apart: the kernel lets them be read after that, but not as a group.
bool real_platform::count(processor& of, unsigned number, double at) {
  counted now{};
  try {
    now = of.counters->read();
  } catch (const std::system_error&) {
    return false;
  }
  const auto enabled = static_cast<double>(now.enabled_ns - of.before.enabled_ns);
  const auto running = static_cast<double>(now.running_ns - of.before.running_ns);
  if (running > 0) {  // else others had the counters all the time, and nothing is known of it
    counts& sum = counts_[of.domain];
    sum.instructions +=
        static_cast<double>(now.instructions - of.before.instructions) * enabled / running;
    sum.cache_misses +=
        static_cast<double>(now.cache_misses - of.before.cache_misses) * enabled / running;
  } else if (enabled > 0) {
    note("other programs had the counters of processor " + std::to_string(number) +
         " for a whole interval: decisions are less sure");
  }
  const bool stood_still = enabled == 0 && at - of.counted_at > surely_counted;
  of.before = now;
  of.counted_at = at;
  return !stood_still;
}

// Reads /proc/stat, in ticks: user, nice, system, idle, iowait, irq, softirq, steal. User includes
// the times of guests. It is read ten times a second, a line for each processor: streams took 52 us
// more for 64.
void real_platform::add_busy_time() {
  static const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::string text = read_place(*kernel_, "/proc/stat", &kernel::read_again);
  for (std::string_view rest = text; rest.starts_with("cpu");) {
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(3, length - 3);
    rest.remove_prefix(std::min(length + 1, rest.size()));
    std::array<std::uint64_t, 8> values{};      // the processor's number, and its times to softirq
    if (!take_numbers(line, values)) continue;  // the first line is the sum of all
    const auto at = processors_.find(static_cast<unsigned>(values[0]));
    if (at == processors_.end()) continue;
    const double busy =
        static_cast<double>(values[1] + values[2] + values[3] + values[6] + values[7]) / per_second;
    processor& one = at->second;
    if (one.busy_before) {
      counts_[one.domain].busy_seconds += std::max(busy - *one.busy_before, 0.0);
    }
    one.busy_before = busy;
  }
}

reading real_platform::read() {
  follow_processors();
  const double at = kernel_->now();
  std::set<std::size_t> were_away;
  for (auto& [number, one] : processors_) {
    if (!one.counters || count(one, number, at)) continue;
    if (!open(one, number)) continue;
    note("the counters of processor " + std::to_string(number) +
         " counted no more, as after a suspend: they are opened again");
    were_away.insert(one.domain);
  }
  set_again(were_away);
  add_busy_time();
  const bool had_energy = joules_.lacking().empty();
  reading now{.seconds = kernel_->now() - began_, .domains = counts_, .joules = joules_.read()};
  if (had_energy && !joules_.lacking().empty()) {
    note("energy is no longer known, and decisions go on without it: " + joules_.lacking());
  }
  return now;
}

// What the kernel says is in force.
kilohertz real_platform::frequency_of(const policy& of) const {
  return read_frequency(*kernel_,
                        of.place + (of.by_speed ? "/scaling_setspeed" : "/scaling_max_freq"));
}

// Whether one of its processors is online now.
bool real_platform::has_processors(const policy& of) const {
  const std::vector<unsigned> here = numbers(read_if_there(*kernel_, of.place + "/affected_cpus"));
  const std::string text = read_if_there(*kernel_, cpu + "/online");
  const std::vector<unsigned> online = text.empty() ? here : numbers(text);
  return std::ranges::any_of(
      here, [&](unsigned number) { return std::ranges::find(online, number) != online.end(); });
}

void real_platform::put(const policy& of, kilohertz frequency) {
  const auto write = [&](const char* file) {
    const std::string place = of.place + file;
    try {
      kernel_->write(place, std::to_string(frequency));
    } catch (const std::system_error& error) {
      const bool forbidden = error.code().value() == EACCES || error.code().value() == EPERM;
      throw platform_error("cannot set " + std::to_string(frequency) + " kHz in " + place + ": " +
                           reason(error) +
                           (forbidden ? "; run as root" : ": the driver refuses it"));
    }
  };
  if (of.by_speed) return write("/scaling_setspeed");
  // The lower limit may never lie above the upper one, whoever set it last.
  const bool raises = frequency >= read_frequency(*kernel_, of.place + "/scaling_min_freq");
  write(raises ? "/scaling_max_freq" : "/scaling_min_freq");
  write(raises ? "/scaling_min_freq" : "/scaling_max_freq");
}

void real_platform::set(std::size_t domain, kilohertz frequency) {
  const policy& of = policies_[domain];
  if (!std::ranges::binary_search(domains_[domain].frequencies, frequency)) {
    throw platform_error(of.place + " has no " + std::to_string(frequency) + " kHz, but " +
                         std::to_string(domains_[domain].frequencies.front()) + " to " +
                         std::to_string(domains_[domain].frequencies.back()));
  }
  set_[domain] = frequency;
  const bool offline = std::ranges::none_of(
      of.processors, [&](unsigned number) { return processors_.at(number).counters != nullptr; });
  if (offline) return;                       // it is set once one of them is back
  const auto taken = [&](kilohertz found) {  // drivers round
    return (found > frequency ? found - frequency : frequency - found) <= step / 2;
  };
  kilohertz now = 0;
  try {
    put(of, frequency);
    now = frequency_of(of);
    for (int i = 0; i < most_looks && !taken(now) && !of.by_speed && now != capped_[domain]; ++i) {
      kernel_->wait(between_looks);
      now = frequency_of(of);
    }
  } catch (const platform_error&) {
    if (has_processors(of)) throw;
    // It went offline since the last reading.
    note(of.place + " took no frequency, as its processors go offline: it is set once one is back");
    return;
  }
  capped_[domain] = taken(now) ? 0 : now;
  if (taken(now)) return;
  const std::string what = of.place + " was set to " + std::to_string(frequency) + " kHz and has " +
                           std::to_string(now) + ": ";
  if (options_.exact) throw platform_error(what + "the hardware does not take it");
  note(what + "the hardware does not take it, or heat or another limit is in the way");
}

// On as many cores as possible: the first processor of each core, then the second ones.
void real_platform::begin_load(load which, unsigned processors) {
  std::vector<std::pair<std::ptrdiff_t, unsigned>> by_rank;
  for (const auto& [number, one] : processors_) {
    if (!one.counters) continue;
    const auto siblings = numbers(read_if_there(
        *kernel_, cpu + "/cpu" + std::to_string(number) + "/topology/thread_siblings_list"));
    const auto at = std::ranges::find(siblings, number);
    by_rank.emplace_back(at == siblings.end() ? 0 : at - siblings.begin(), number);
  }
  if (processors > by_rank.size()) {
    throw platform_error("a load for " + std::to_string(processors) + " processors: there are " +
                         std::to_string(by_rank.size()));
  }
  std::ranges::sort(by_rank);
  std::vector<unsigned> chosen;
  for (const auto& [rank, number] : by_rank | std::views::take(processors)) {
    chosen.push_back(number);
  }
  loads_.emplace(which, chosen, options_.load_bytes);
}

}  // namespace assay::energy
