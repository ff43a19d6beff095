#include "assay/openmp/affinity_format.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <mutex>

#include "assay/openmp/affinity.h"
#include "assay/openmp/settings.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

struct shared_format {
  std::mutex mutex;
  std::string text = process_settings().affinity_format;
};

shared_format& in_use() {
  static auto* const one = new shared_format;
  return *one;
}

// 0-2,5
std::string ranges(const processor_list& processors) {
  std::string text;
  for (std::size_t first = 0; first < processors.size();) {
    std::size_t end = first + 1;
    while (end < processors.size() && processors[end] == processors[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(processors[first]);
    if (end - first > 1) text.append("-").append(std::to_string(processors[end - 1]));
    first = end;
  }
  return text;
}

struct named {
  char letter;
  std::string_view name;
};
constexpr std::array<named, 11> fields{{{'t', "team_num"},
                                        {'T', "num_teams"},
                                        {'L', "nesting_level"},
                                        {'n', "thread_num"},
                                        {'N', "num_threads"},
                                        {'a', "ancestor_tnum"},
                                        {'H', "host"},
                                        {'P', "process_id"},
                                        {'i', "native_thread_id"},
                                        {'A', "thread_affinity"},
                                        {'%', "%"}}};

std::string value_of(char field) {
  const member& me = *self().me;
  const team& in = *me.in;
  switch (field) {
    case 't':
      return std::to_string(outermost(*me.in).league_number);
    case 'T':
      return std::to_string(outermost(*me.in).league_size);
    case 'L':
      return std::to_string(in.level);
    case 'n':
      return std::to_string(me.id);
    case 'N':
      return std::to_string(in.size);
    case 'a':
      return in.outer_member == nullptr ? "-1" : std::to_string(in.outer_member->id);
    case 'H': {
      std::array<char, 256> host{};
      gethostname(host.data(), host.size() - 1);
      return host.data();
    }
    case 'P':
      return std::to_string(getpid());
    case 'i':
      return std::to_string(syscall(SYS_gettid));
    case 'A':
      return ranges(usable_processors());
    default:
      return "undefined";
  }
}

}  // namespace

std::string describe_affinity(std::string_view format) {
  std::string text;
  const auto next = [&] { return format.empty() ? '\0' : format.front(); };
  while (!format.empty()) {
    const char c = format.front();
    format.remove_prefix(1);
    if (c != '%') {
      text += c;
      continue;
    }
    if (next() == '%') {
      text += '%';
      format.remove_prefix(1);
      continue;
    }
    const bool zeros = next() == '0';
    if (zeros) format.remove_prefix(1);
    const bool right = next() == '.';
    if (right) format.remove_prefix(1);
    std::size_t width = 0;
    constexpr std::size_t widest = 1024;
    while (std::isdigit(static_cast<unsigned char>(next())) != 0) {
      width = std::min(widest, width * 10 + static_cast<std::size_t>(next() - '0'));
      format.remove_prefix(1);
    }
    char field = '\0';
    if (next() == '{') {
      const std::size_t end = std::min(format.find('}'), format.size());
      const auto* const found = std::ranges::find(fields, format.substr(1, end - 1), &named::name);
      if (found != fields.end()) field = found->letter;
      format.remove_prefix(std::min(end + 1, format.size()));
    } else if (!format.empty()) {
      field = format.front();
      format.remove_prefix(1);
    }
    const std::string value = value_of(field);
    const std::size_t missing = width > value.size() ? width - value.size() : 0;
    const bool number = !value.empty() && std::ranges::all_of(value, [](unsigned char digit) {
      return std::isdigit(digit) != 0;
    });
    if (right) text.append(missing, zeros && number ? '0' : ' ');
    text += value;
    if (!right) text.append(missing, ' ');
  }
  return text;
}

void display_affinity_once(thread& mine) {
  const member& me = *mine.me;
  // One number for all that may change. It stays the same only where levels or teams are huge.
  const std::uint64_t now =
      1U + (std::uint64_t{me.in->level} << 56U ^ std::uint64_t{me.in->size} << 36U ^
            std::uint64_t{me.id} << 16U ^ me.at.place);
  if (mine.displayed == now) return;
  mine.displayed = now;
  std::fprintf(stderr, "%s\n", describe_affinity(affinity_format()).c_str());
}

std::string affinity_format() {
  const std::scoped_lock held(in_use().mutex);
  return in_use().text;
}

void set_affinity_format(std::string_view format) {
  const std::scoped_lock held(in_use().mutex);
  in_use().text = format;
}

}  // namespace assay::omp
