#include "assay/openmp/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "assay/input/edit_distance.h"

namespace assay::omp {
namespace {

constexpr unsigned most_threads = std::numeric_limits<int>::max();
constexpr unsigned most_processors = 65536;  // in places that are written down

// A value, read from its beginning. Spaces count for nothing.
class cursor {
 public:
  explicit cursor(std::string_view text) noexcept : rest_(text) { skip(); }

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  bool accept(char wanted) noexcept {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    skip();
    return true;
  }
  // A number of digits alone, at most `most`.
  template <class T>
  std::optional<T> number(T most = std::numeric_limits<T>::max()) noexcept {
    T value = 0;
    if (rest_.empty() || std::isdigit(static_cast<unsigned char>(rest_.front())) == 0) return {};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value > most) return {};
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    skip();
    return value;
  }
  // Letters, digits and underscores.
  std::string_view word() noexcept {
    const auto end = std::ranges::find_if_not(
        rest_, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    const std::string_view found(rest_.begin(), end);
    rest_.remove_prefix(found.size());
    skip();
    return found;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  void skip() noexcept {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
      rest_.remove_prefix(1);
    }
  }
  std::string_view rest_;
};

std::string lower(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

std::string trimmed(std::string_view text) {
  const auto space = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && space(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && space(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

// What a variable can be, if it is a word.
template <class T>
struct choice {
  std::string_view word;
  T value;
};

template <class T>
using choices = std::span<const choice<T>>;

template <class T>
std::optional<T> chosen(std::string_view text, choices<T> all) {
  const std::string wanted = lower(trimmed(text));
  for (const choice<T>& each : all) {
    if (each.word == wanted) return each.value;
  }
  return {};
}

template <class T>
std::string nearest(std::string_view text, choices<T> all) {
  const std::string wanted = lower(trimmed(text));
  const auto found = std::ranges::min_element(
      all, {}, [&](const choice<T>& each) { return input::edit_distance(wanted, each.word); });
  return std::string("did you mean ").append(found->word).append("?");
}

// What is wrong with a value; empty: nothing.
using complaint = std::string;

template <class T>
complaint choose(std::string_view text, choices<T> all, T& to) {
  const std::optional<T> found = chosen(text, all);
  if (!found) return nearest(text, all);
  to = *found;
  return {};
}

constexpr auto yes_or_no = std::to_array<choice<bool>>({{"true", true}, {"false", false}});

complaint read_bool(std::string_view text, bool& to) { return choose<bool>(text, yes_or_no, to); }

complaint read_number(std::string_view text, unsigned least, unsigned most, unsigned& to) {
  cursor at(text);
  const auto value = at.number(most);
  if (!value || *value < least || !at.at_end()) {
    return std::string("it takes a number from ")
        .append(std::to_string(least))
        .append(" to ")
        .append(std::to_string(most));
  }
  to = *value;
  return {};
}

complaint read_num_threads(std::string_view text, settings& set) {
  cursor at(text);
  std::vector<unsigned> all;
  do {
    const auto each = at.number(most_threads);
    if (!each || *each == 0) {
      return std::string("it takes numbers from 1 to ")
          .append(std::to_string(most_threads))
          .append(", one for each level of nesting, such as 4 or 4,2");
    }
    all.push_back(*each);
  } while (at.accept(','));
  if (!at.at_end()) return "it takes numbers with commas between, such as 4,2";
  set.num_threads = std::move(all);
  return {};
}

complaint read_schedule(std::string_view text, settings& set) {
  constexpr auto kinds = std::to_array<choice<schedule_kind>>({{"static", schedule_kind::fixed},
                                                               {"dynamic", schedule_kind::dynamic},
                                                               {"guided", schedule_kind::guided},
                                                               {"auto", schedule_kind::automatic}});
  constexpr auto modifiers =
      std::to_array<choice<bool>>({{"monotonic", true}, {"nonmonotonic", false}});
  cursor at(text);
  schedule read;
  std::string_view word = at.word();
  std::optional<bool> monotonic;
  if (at.accept(':')) {
    monotonic = chosen<bool>(word, modifiers);
    if (!monotonic) return nearest<bool>(word, modifiers);
    word = at.word();
  }
  if (const complaint wrong = choose<schedule_kind>(word, kinds, read.kind); !wrong.empty()) {
    return wrong;
  }
  read.monotonic = monotonic.value_or(read.kind == schedule_kind::fixed);
  read.chunk = read.kind == schedule_kind::fixed ? 0 : 1;
  if (at.accept(',')) {
    const auto chunk = at.number(most_threads);
    if (!chunk || *chunk == 0) return "after the comma it takes a number from 1, such as dynamic,8";
    read.chunk = static_cast<long>(*chunk);
  }
  if (!at.at_end()) return "it takes [monotonic:|nonmonotonic:]kind[,size], such as dynamic,8";
  set.run_schedule = read;
  return {};
}

complaint read_proc_bind(std::string_view text, settings& set) {
  constexpr auto alone =
      std::to_array<choice<unsigned>>({{"true", binding::yes}, {"false", binding::no}});
  constexpr auto by_level = std::to_array<choice<unsigned>>({{"primary", binding::primary},
                                                             {"master", binding::primary},
                                                             {"close", binding::close},
                                                             {"spread", binding::spread},
                                                             {"true", binding::yes},
                                                             {"false", binding::no}});
  if (const auto value = chosen<unsigned>(text, alone)) {
    set.proc_bind = {*value};
    return {};
  }
  cursor at(text);
  std::vector<unsigned> all;
  do {
    const std::string_view word = at.word();
    const auto value = chosen<unsigned>(word, by_level);
    if (!value) return nearest<unsigned>(word, by_level);
    if (*value < binding::primary) return "true and false stand alone";
    all.push_back(*value);
  } while (at.accept(','));
  if (!at.at_end()) return "it takes words with commas between, such as spread,close";
  set.proc_bind = std::move(all);
  return {};
}

constexpr std::string_view places_help =
    "it takes a word such as cores or cores(4), or places such as {0,1},{2:2}";

// What may follow the first of an interval: :length or :length:stride. False if it is wrong.
bool read_length(cursor& at, unsigned& length, std::int64_t& stride) {
  if (!at.accept(':')) return true;
  const auto given_length = at.number(most_processors);
  if (!given_length || *given_length == 0) return false;
  length = *given_length;
  if (!at.accept(':')) return true;
  const bool negative = at.accept('-');
  const auto given_stride = at.number(most_processors);
  if (!given_stride) return false;
  stride = negative ? -static_cast<std::int64_t>(*given_stride) : *given_stride;
  return true;
}

// num, num:length or num:length:stride, from which `add` gets each number. False if it is wrong.
template <class Add>
bool read_interval(cursor& at, const Add& add) {
  const auto first = at.number(most_processors - 1);
  if (!first) return false;
  unsigned length = 1;
  std::int64_t stride = 1;
  if (!read_length(at, length, stride)) return false;
  for (unsigned i = 0; i < length; ++i) {
    const std::int64_t each = *first + stride * i;
    if (each < 0 || each >= most_processors) return false;
    add(static_cast<unsigned>(each));
  }
  return true;
}

bool read_place(cursor& at, processor_list& to) {
  if (!at.accept('{')) return false;
  do {
    const bool without = at.accept('!');
    const bool right = read_interval(at, [&](unsigned processor) {
      std::erase(to, processor);
      if (!without) to.push_back(processor);
    });
    if (!right) return false;
  } while (at.accept(','));
  return at.accept('}');
}

// place[:length[:stride]] or !place
bool read_places_interval(cursor& at, std::vector<processor_list>& to) {
  const bool without = at.accept('!');
  processor_list place;
  if (!read_place(at, place)) return false;
  if (without) {
    std::erase(to, place);
    return true;
  }
  unsigned length = 1;
  auto stride = static_cast<std::int64_t>(place.size());  // the next ones
  if (!read_length(at, length, stride)) return false;
  if (length * place.size() > most_processors) return false;
  for (unsigned i = 0; i < length; ++i) {
    processor_list moved;
    for (const unsigned processor : place) {
      const std::int64_t there = processor + stride * i;
      if (there < 0 || there >= most_processors) return false;
      moved.push_back(static_cast<unsigned>(there));
    }
    to.push_back(std::move(moved));
  }
  return true;
}

complaint read_places(std::string_view text, settings& set) {
  constexpr auto kinds =
      std::to_array<choice<place_kind>>({{"threads", place_kind::threads},
                                         {"cores", place_kind::cores},
                                         {"ll_caches", place_kind::last_level_caches},
                                         {"numa_domains", place_kind::numa_domains},
                                         {"sockets", place_kind::sockets}});
  cursor at(text);
  place_request read;
  if (const std::string_view word = at.word(); !word.empty()) {
    if (const complaint wrong = choose<place_kind>(word, kinds, read.kind); !wrong.empty()) {
      return wrong;
    }
    if (at.accept('(')) {
      const auto count = at.number(most_processors);
      if (!count || *count == 0 || !at.accept(')')) return std::string(places_help);
      read.count = *count;
    }
  } else {
    read.kind = place_kind::listed;
    do {
      if (!read_places_interval(at, read.listed)) return std::string(places_help);
    } while (at.accept(','));
  }
  if (!at.at_end() || (read.kind == place_kind::listed && read.listed.empty())) {
    return std::string(places_help);
  }
  set.places = std::move(read);
  return {};
}

// gcc's: numbers, or ranges with a stride, each processor a place.
complaint read_cpu_affinity(std::string_view text, settings& set) {
  constexpr std::string_view help = "it takes numbers and ranges of processors, such as 0 2-6:2";
  cursor at(text);
  place_request read;
  read.kind = place_kind::listed;
  while (!at.at_end()) {
    const auto first = at.number(most_processors - 1);
    if (!first) return std::string(help);
    unsigned last = *first;
    unsigned stride = 1;
    if (at.accept('-')) {
      const auto read_last = at.number(most_processors - 1);
      if (!read_last || *read_last < *first) return std::string(help);
      last = *read_last;
      if (at.accept(':')) {
        const auto read_stride = at.number(most_processors);
        if (!read_stride || *read_stride == 0) return std::string(help);
        stride = *read_stride;
      }
    }
    for (unsigned each = *first; each <= last; each += stride) read.listed.push_back({each});
    at.accept(',');
  }
  if (read.listed.empty()) return std::string(help);
  set.places = std::move(read);
  return {};
}

complaint read_stack(std::string_view text, settings& set) {
  constexpr auto units =
      std::to_array<choice<unsigned>>({{"", 10U}, {"b", 0U}, {"k", 10U}, {"m", 20U}, {"g", 30U}});
  constexpr std::string_view help =
      "it takes a size in KiB, or with one of B, K, M, G, such as 16M";
  cursor at(text);
  const auto size = at.number<std::uint64_t>();
  const auto shift = chosen<unsigned>(at.rest(), units);
  if (!size || *size == 0 || !shift) return std::string(help);
  if (*size > std::numeric_limits<std::size_t>::max() >> *shift) return "it is too large";
  set.stack_bytes = *size << *shift;
  return {};
}

// gcc's number of looks at what a thread waits for. Here threads look as long as that pays, so that
// only its ends say something.
complaint read_spin_count(std::string_view text, settings& set) {
  if (const std::string all = lower(trimmed(text)); all == "infinite" || all == "infinity") {
    set.waiting = wait_policy::active;
    return {};
  }
  cursor at(text);
  const auto count = at.number<std::uint64_t>();
  constexpr std::string_view units = "kmgt";
  if (!count || at.rest().size() > 1 ||
      (!at.at_end() && units.find(lower(at.rest())) == std::string_view::npos)) {
    return "it takes a number, such as 300000 or 300k, or infinite";
  }
  if (*count == 0) set.waiting = wait_policy::passive;
  return {};
}

complaint read_levels(std::string_view text, settings& set) {
  unsigned levels = 0;
  complaint wrong = read_number(text, 0, most_threads, levels);
  if (wrong.empty()) set.max_active_levels = std::min(levels, supported_active_levels);
  return wrong;
}

complaint read_nested(std::string_view text, settings& set) {
  bool nested = false;
  complaint wrong = read_bool(text, nested);
  if (wrong.empty()) set.max_active_levels = nested ? supported_active_levels : 1;
  return wrong;
}

complaint read_device(std::string_view text, settings& set) {
  unsigned device = 0;
  complaint wrong = read_number(text, 0, most_threads, device);
  if (wrong.empty()) set.default_device = static_cast<int>(device);
  return wrong;
}

constexpr auto allocators = std::to_array<choice<std::uintptr_t>>({{"omp_default_mem_alloc", 1},
                                                                   {"omp_large_cap_mem_alloc", 2},
                                                                   {"omp_const_mem_alloc", 3},
                                                                   {"omp_high_bw_mem_alloc", 4},
                                                                   {"omp_low_lat_mem_alloc", 5},
                                                                   {"omp_cgroup_mem_alloc", 6},
                                                                   {"omp_pteam_mem_alloc", 7},
                                                                   {"omp_thread_mem_alloc", 8}});

constexpr auto waits = std::to_array<choice<wait_policy>>(
    {{"active", wait_policy::active}, {"passive", wait_policy::passive}});
constexpr auto offloads =
    std::to_array<choice<offload_policy>>({{"default", offload_policy::usual},
                                           {"mandatory", offload_policy::mandatory},
                                           {"disabled", offload_policy::disabled}});
constexpr auto displays =
    std::to_array<choice<environment_display>>({{"true", environment_display::standard},
                                                {"false", environment_display::none},
                                                {"verbose", environment_display::all}});
constexpr auto criticals =
    std::to_array<choice<critical_policy>>({{"none", critical_policy::plain},
                                            {"elision", critical_policy::elision},
                                            {"backoff", critical_policy::backoff}});
constexpr auto on_or_off = std::to_array<choice<bool>>({{"on", true}, {"off", false}});

// What is read elsewhere, or means nothing to a host without tools.
complaint read_any(std::string_view /*text*/, settings& /*set*/) { return {}; }

struct variable {
  std::string_view name;
  complaint (*read)(std::string_view, settings&);
};

// In the order in which they are read: where two say the same, the later one counts.
constexpr auto variables_known = std::to_array<variable>({
    {"OMP_NUM_THREADS", read_num_threads},
    {"OMP_SCHEDULE", read_schedule},
    {"OMP_DYNAMIC",
     [](std::string_view text, settings& set) { return read_bool(text, set.dynamic); }},
    {"OMP_NESTED", read_nested},
    {"OMP_MAX_ACTIVE_LEVELS", read_levels},
    {"OMP_THREAD_LIMIT",
     [](std::string_view text, settings& set) {
       return read_number(text, 1, most_threads, set.thread_limit);
     }},
    {"GOMP_STACKSIZE", read_stack},
    {"OMP_STACKSIZE", read_stack},
    {"GOMP_SPINCOUNT", read_spin_count},
    {"OMP_WAIT_POLICY",
     [](std::string_view text, settings& set) {
       return choose<wait_policy>(text, waits, set.waiting);
     }},
    {"OMP_PROC_BIND", read_proc_bind},
    {"GOMP_CPU_AFFINITY", read_cpu_affinity},
    {"OMP_PLACES", read_places},
    {"OMP_CANCELLATION",
     [](std::string_view text, settings& set) { return read_bool(text, set.cancellation); }},
    {"OMP_MAX_TASK_PRIORITY",
     [](std::string_view text, settings& set) {
       return read_number(text, 0, most_threads, set.max_task_priority);
     }},
    {"OMP_NUM_TEAMS",
     [](std::string_view text, settings& set) {
       return read_number(text, 1, most_threads, set.num_teams);
     }},
    {"OMP_TEAMS_THREAD_LIMIT",
     [](std::string_view text, settings& set) {
       return read_number(text, 1, most_threads, set.teams_thread_limit);
     }},
    {"OMP_DEFAULT_DEVICE", read_device},
    {"OMP_TARGET_OFFLOAD",
     [](std::string_view text, settings& set) {
       return choose<offload_policy>(text, offloads, set.offload);
     }},
    {"OMP_ALLOCATOR",
     [](std::string_view text, settings& set) {
       return choose<std::uintptr_t>(text, allocators, set.allocator);
     }},
    {"OMP_DISPLAY_ENV",
     [](std::string_view text, settings& set) {
       return choose<environment_display>(text, displays, set.display_environment);
     }},
    {"OMP_DISPLAY_AFFINITY",
     [](std::string_view text, settings& set) { return read_bool(text, set.display_affinity); }},
    {"OMP_AFFINITY_FORMAT",
     [](std::string_view text, settings& set) -> complaint {
       set.affinity_format = text;
       return {};
     }},
    {"ASSAY_OMP_CRITICAL",
     [](std::string_view text, settings& set) {
       return choose<critical_policy>(text, criticals, set.critical);
     }},
    {"ASSAY_OMP_SPECULATION",
     [](std::string_view text, settings& set) {
       return choose<bool>(text, on_or_off, set.run_ahead);
     }},
    {"ASSAY_OMP_STATISTICS",
     [](std::string_view text, settings& set) {
       return choose<bool>(text, on_or_off, set.statistics);
     }},
    {"ASSAY_OMP_WAIT_AT",
     [](std::string_view text, settings& set) -> complaint {
       for (const auto part : std::views::split(text, ',')) {
         set.wait_at.push_back(trimmed(std::string_view(part.begin(), part.end())));
         if (set.wait_at.back().find("+0x") != std::string::npos) continue;
         set.wait_at.clear();
         return "it takes places as the statistics name them, such as my_program+0x12ab";
       }
       return {};
     }},
    {"OMP_TOOL", read_any},
    {"OMP_TOOL_LIBRARIES", read_any},
    {"OMP_TOOL_VERBOSE_INIT", read_any},
    {"OMP_DEBUG", read_any},
});

// Settings that follow from others (OpenMP 5.1, sections 2.4 and 6).
void complete(settings& set, bool levels_given) {
  if (!levels_given && (set.num_threads.size() > 1 || set.proc_bind.size() > 1)) {
    set.max_active_levels = supported_active_levels;
  }
  if (set.proc_bind == std::vector{binding::no}) {
    set.proc_bind.clear();
    set.places = {};
  } else if (set.places.kind != place_kind::none && set.proc_bind.empty()) {
    set.proc_bind = {binding::yes};
  } else if (set.places.kind == place_kind::none && !set.proc_bind.empty()) {
    set.places.kind = place_kind::threads;  // as gcc's
  }
}

// A name that nobody reads, if it is nearly one that is read.
std::optional<complaint> misspelt(std::string_view name) {
  if (!name.starts_with("OMP_") && !name.starts_with("ASSAY_OMP_")) return {};
  const auto distance = [&](const variable& each) { return input::edit_distance(name, each.name); };
  const auto* const found = std::ranges::min_element(variables_known, {}, distance);
  constexpr std::size_t near = 3;
  const std::size_t off = distance(*found);
  if (off == 0 || off > near) return {};
  return std::string(name).append(" is not known: did you mean ").append(found->name).append("?");
}

std::string show_places(const place_request& places) {
  constexpr std::array<std::string_view, 6> words{"",          "threads",      "cores",
                                                  "ll_caches", "numa_domains", "sockets"};
  if (places.kind != place_kind::listed) {
    std::string word(words.at(static_cast<std::size_t>(places.kind)));
    return places.count == 0 ? word
                             : word.append("(").append(std::to_string(places.count)).append(")");
  }
  std::string all;
  for (const processor_list& place : places.listed) {
    all += all.empty() ? "{" : ",{";
    for (std::size_t i = 0; i < place.size(); ++i) {
      all.append(i == 0 ? "" : ",").append(std::to_string(place[i]));
    }
    all += "}";
  }
  return all;
}

std::string upper(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return all;
}

template <class T>
std::string word_of(T value, choices<T> all) {
  const auto found = std::ranges::find(all, value, &choice<T>::value);
  return found == all.end() ? "" : upper(found->word);
}

}  // namespace

environment_reading read_environment(std::span<const std::string> variables, unsigned processors) {
  environment_reading reading;
  reading.set.processors = std::max(1U, processors);
  bool levels_given = false;
  for (const variable& each : variables_known) {
    const auto found = std::ranges::find_if(variables, [&](std::string_view given) {
      return given.starts_with(each.name) && given.substr(each.name.size()).starts_with('=');
    });
    if (found == variables.end()) continue;
    const std::string_view value = std::string_view(*found).substr(each.name.size() + 1);
    const complaint wrong = each.read(value, reading.set);
    if (!wrong.empty()) {
      reading.complaints.push_back(std::string(each.name) + "=" + std::string(value) +
                                   " is ignored: " + wrong);
    } else if (each.name == "OMP_NESTED" || each.name == "OMP_MAX_ACTIVE_LEVELS") {
      levels_given = true;
    }
  }
  complete(reading.set, levels_given);
  const auto& wanted = reading.set.num_threads;
  if (!wanted.empty() && wanted.front() > reading.set.thread_limit) {
    reading.complaints.push_back("OMP_NUM_THREADS asks for " + std::to_string(wanted.front()) +
                                 " threads, and OMP_THREAD_LIMIT allows " +
                                 std::to_string(reading.set.thread_limit) + ": teams have no more");
  }
  for (const std::string_view given : variables) {
    const auto wrong = misspelt(given.substr(0, given.find('=')));
    if (wrong) reading.complaints.push_back(*wrong);
  }
  return reading;
}

settings read_process_environment(const char* library, bool (*wanted)(std::string_view),
                                  unsigned processors) {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (wanted(*each)) variables.emplace_back(*each);
  }
  auto [set, complaints] = read_environment(variables, processors);
  for (const std::string& complaint : complaints) {
    std::fprintf(stderr, "%s: %s\n", library, complaint.c_str());
  }
  return set;
}

std::string describe(const settings& set, bool all) {
  std::string text = "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n";
  const auto line = [&](std::string_view name, std::string_view value) {
    text.append("  ").append(name).append(" = '").append(value).append("'\n");
  };
  const auto flag = [](bool value) { return value ? "TRUE" : "FALSE"; };
  const auto list = [](const std::vector<unsigned>& values, const auto& shown) {
    std::string joined;
    for (const unsigned value : values) joined += (joined.empty() ? "" : ",") + shown(value);
    return joined;
  };
  const auto number = [](unsigned value) { return std::to_string(value); };
  const auto bind = [](unsigned value) {
    constexpr std::array<std::string_view, 5> words{"FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD"};
    return std::string(words.at(value));
  };
  constexpr std::array<std::string_view, 5> kinds{"", "STATIC", "DYNAMIC", "GUIDED", "AUTO"};
  const schedule& run = set.run_schedule;
  const bool is_static = run.kind == schedule_kind::fixed;
  std::string shown_schedule;
  if (run.monotonic != is_static) shown_schedule = run.monotonic ? "MONOTONIC:" : "NONMONOTONIC:";
  shown_schedule += kinds.at(static_cast<std::size_t>(run.kind));
  if (run.chunk != (is_static ? 0 : 1))
    shown_schedule.append(",").append(std::to_string(run.chunk));

  line("_OPENMP", "201511");  // what gcc 12 says
  line("OMP_DYNAMIC", flag(set.dynamic));
  line("OMP_NESTED", flag(set.max_active_levels > 1));
  line("OMP_NUM_THREADS",
       set.num_threads.empty() ? number(set.processors) : list(set.num_threads, number));
  line("OMP_SCHEDULE", shown_schedule);
  line("OMP_PROC_BIND", set.proc_bind.empty() ? "FALSE" : list(set.proc_bind, bind));
  line("OMP_PLACES", show_places(set.places));
  line("OMP_STACKSIZE", std::to_string(set.stack_bytes));
  line("OMP_WAIT_POLICY", set.waiting == wait_policy::active ? "ACTIVE" : "PASSIVE");
  line("OMP_THREAD_LIMIT", number(set.thread_limit));
  line("OMP_MAX_ACTIVE_LEVELS", number(set.max_active_levels));
  line("OMP_NUM_TEAMS", number(set.num_teams));
  line("OMP_TEAMS_THREAD_LIMIT", number(set.teams_thread_limit));
  line("OMP_CANCELLATION", flag(set.cancellation));
  line("OMP_DEFAULT_DEVICE", std::to_string(set.default_device));
  line("OMP_MAX_TASK_PRIORITY", number(set.max_task_priority));
  line("OMP_DISPLAY_AFFINITY", flag(set.display_affinity));
  line("OMP_AFFINITY_FORMAT", set.affinity_format);
  line("OMP_ALLOCATOR", lower(word_of<std::uintptr_t>(set.allocator, allocators)));
  line("OMP_TARGET_OFFLOAD", word_of<offload_policy>(set.offload, offloads));
  if (all) {
    line("ASSAY_OMP_CRITICAL", lower(word_of<critical_policy>(set.critical, criticals)));
    line("ASSAY_OMP_SPECULATION", word_of<bool>(set.run_ahead, on_or_off));
    line("ASSAY_OMP_STATISTICS", word_of<bool>(set.statistics, on_or_off));
  }
  return text + "OPENMP DISPLAY ENVIRONMENT END\n";
}

}  // namespace assay::omp
