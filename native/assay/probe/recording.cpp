#include "assay/probe/recording.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <utility>

namespace assay::probe {
namespace {

// So far apart that no two threads write to one cache line, nor to two that the processor fetches
// together.
constexpr std::size_t interference_bytes = 128;

struct declared_probe {
  detail::declaration declaration;
  std::uint32_t first;
};

struct registry {
  std::mutex mutex;
  std::vector<declared_probe> probes;
  std::uint32_t words = 0;
};

// Made by the first probe, whichever that is, and never destroyed: threads may still record while
// the program ends.
registry& all_probes() {
  static auto* const made = new registry;
  return *made;
}

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         std::strcmp(a.file_name(), b.file_name()) == 0;
}

std::string text(const std::source_location& place) {
  return std::string(place.file_name()) + ":" + std::to_string(place.line());
}

// Frees what a thread recorded if it ends while it records; from then on it does not.
struct recording {
  std::optional<block> into;

  ~recording() { detail::thread_words = {nullptr, 0, 0}; }
};
thread_local recording own;

// The endings of the further metrics that a probe yields. They follow the probe's name.
std::vector<const char*> endings_of(kind kind) {
  switch (kind) {
    case kind::counter:
    case kind::maximum:
      return {};
    case kind::histogram:
      return {"_max"};
    case kind::series:
    case kind::summary:
      return {"_max", "_variance"};
  }
  return {};
}

// All probes by name.
std::vector<declared_probe> checked() {
  std::vector<declared_probe> probes;
  {
    registry& all = all_probes();
    const std::lock_guard lock(all.mutex);
    probes = all.probes;
  }
  const auto less = [](const declared_probe& a, const declared_probe& b) {
    return std::strcmp(a.declaration.name, b.declaration.name) < 0;
  };
  std::ranges::sort(probes, less);
  const auto twice = std::ranges::adjacent_find(probes, std::not_fn(less));
  if (twice != probes.end()) {
    throw std::logic_error("two probes are named " + std::string(twice->declaration.name) +
                           ", at " + text(twice->declaration.place) + " and " +
                           text(std::next(twice)->declaration.place) +
                           "; rename one, or declare it once in a header");
  }
  // Some kinds give further metrics.
  for (const declared_probe& probe : probes) {
    for (const char* const ending : endings_of(probe.declaration.kind)) {
      const std::string derived = std::string(probe.declaration.name) + ending;
      const auto other = std::ranges::find_if(
          probes, [&](const declared_probe& each) { return each.declaration.name == derived; });
      if (other != probes.end()) {
        throw std::logic_error("the metric probe_" + derived + " would belong to two probes, " +
                               probe.declaration.name + " at " + text(probe.declaration.place) +
                               " and " + derived + " at " + text(other->declaration.place) +
                               "; rename one");
      }
    }
  }
  return probes;
}

// Sums are kept in two words, as values may be large: times, or addresses.
double wide(std::uint64_t lower, std::uint64_t upper) {
  return static_cast<double>(upper) * 0x1p64 + static_cast<double>(lower);
}

// The values over which sum, mean, least and largest are given.
struct totals {
  double sum = 0;
  std::uint64_t count = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(double value) { add(value, 1, value, value); }
  void add(double values_sum, std::uint64_t values, double least, double largest) {
    sum += values_sum;
    count += values;
    min = std::min(min, least);
    max = std::max(max, largest);
  }
  std::optional<double> mean() const {
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
  }
  void write_to(recorded& result) const {
    result.sum = sum;
    result.mean = mean();
    if (count > 0) {
      result.min = min;
      result.max = max;
    }
  }
};

void read_counters(std::span<const std::span<const std::uint64_t>> threads, recorded& result) {
  totals over_threads;
  for (const auto words : threads) {
    const std::uint64_t counted = words.empty() ? 0 : words[0];
    result.count += counted;
    result.threads.emplace_back(static_cast<double>(counted));
    over_threads.add(static_cast<double>(counted));
  }
  over_threads.write_to(result);
}

void read_maxima(std::span<const std::span<const std::uint64_t>> threads, recorded& result) {
  totals over_threads;
  for (const auto words : threads) {
    if (words.empty() || words[0] == 0) {
      result.threads.emplace_back();
      continue;
    }
    result.count += words[0];
    result.threads.emplace_back(static_cast<double>(words[1]));
    over_threads.add(static_cast<double>(words[1]));
  }
  over_threads.write_to(result);
}

// The least and the largest value that belong to a bucket; the bucket above all linear ones ends
// with the largest value that there was.
std::pair<std::uint64_t, std::uint64_t> bounds(const buckets& buckets, std::uint32_t index,
                                               std::uint64_t largest) {
  if (buckets.width == 0) {
    const std::uint64_t low = index == 0 ? 0 : std::uint64_t{1} << (index - 1);
    return {low, low == 0 ? 0 : low + (low - 1)};
  }
  if (index == 0) return {0, buckets.low - 1};
  const std::uint64_t low = buckets.low + (index - 1) * buckets.width;
  return {low, index + 1 == buckets.number ? largest : low + (buckets.width - 1)};
}

void read_histograms(const buckets& buckets,
                     std::span<const std::span<const std::uint64_t>> threads, recorded& result) {
  totals over_values;
  std::vector<std::uint64_t> counts(buckets.number);
  std::uint64_t largest = 0;
  for (const auto words : threads) {
    totals own_values;
    if (!words.empty()) {
      const auto own_counts = words.subspan(4);
      const auto number = std::accumulate(own_counts.begin(), own_counts.end(), std::uint64_t{0});
      std::ranges::transform(counts, own_counts, counts.begin(), std::plus());
      if (number > 0) {
        largest = std::max(largest, words[3]);
        own_values.add(wide(words[0], words[1]), number, static_cast<double>(~words[2]),
                       static_cast<double>(words[3]));
        over_values.add(own_values.sum, number, own_values.min, own_values.max);
      }
    }
    result.threads.push_back(own_values.mean());
  }
  over_values.write_to(result);
  result.count = over_values.count;

  const auto filled = [](std::uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(counts, filled) - counts.begin();
  const auto end =
      std::ranges::find_if(std::views::reverse(counts), filled).base() - counts.begin();
  for (auto i = static_cast<std::uint32_t>(first); i < end; ++i) {
    const auto [low, high] = bounds(buckets, i, largest);
    result.buckets.push_back({low, high, counts[i]});
  }
}

// Mean and squared differences of two samples as one (Chan, Golub and LeVeque 1983).
struct spread {
  double count = 0;
  double mean = 0;
  double squares = 0;

  void add(const spread& more) {
    if (more.count == 0) return;
    const double all = count + more.count;
    const double difference = more.mean - mean;
    squares += more.squares + difference * difference * count * more.count / all;
    mean += difference * more.count / all;
    count = all;
  }
  [[nodiscard]] std::optional<double> variance() const {
    return count > 1 ? std::optional(squares / (count - 1)) : std::nullopt;
  }
};

void read_summaries(std::span<const std::span<const std::uint64_t>> threads, recorded& result) {
  totals over_values;
  spread all;
  for (const auto words : threads) {
    if (words.empty() || words[0] == 0) {
      result.threads.emplace_back();
      continue;
    }
    const auto number = [&](std::size_t i) { return std::bit_cast<double>(words[i]); };
    const auto count = static_cast<double>(words[0]);
    all.add({.count = count, .mean = number(1), .squares = number(2)});
    over_values.add(number(1) * count, words[0], number(3), number(4));
    result.threads.emplace_back(number(1));
  }
  over_values.write_to(result);
  result.count = over_values.count;
  if (all.count > 0) result.mean = all.mean;
  result.variance = all.variance();
}

void read_series(std::span<const std::span<const std::uint64_t>> threads, recorded& result) {
  totals over_values;
  spread all;
  for (const auto words : threads) {
    totals own_values;
    auto& kept = result.values.emplace_back();
    if (!words.empty()) {
      result.count += words[0];
      const auto values = words.subspan(1);
      kept.assign(values.begin(),
                  values.begin() + static_cast<std::ptrdiff_t>(
                                       std::min<std::uint64_t>(words[0], values.size())));
      for (const std::uint64_t value : kept) {
        own_values.add(static_cast<double>(value));
        over_values.add(static_cast<double>(value));
        all.add({.count = 1, .mean = static_cast<double>(value), .squares = 0});
      }
    }
    result.threads.push_back(own_values.mean());
  }
  over_values.write_to(result);
  result.variance = all.variance();
}

}  // namespace

std::uint64_t detail::now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

std::uint32_t detail::declare(const declaration& probe) {
  registry& all = all_probes();
  const std::lock_guard lock(all.mutex);
  for (const declared_probe& known : all.probes) {
    // Instances of one template, or the files that include one header.
    if (std::strcmp(known.declaration.name, probe.name) == 0 &&
        same_place(known.declaration.place, probe.place)) {
      return known.first;
    }
  }
  if (probe.words > std::numeric_limits<std::uint32_t>::max() - all.words) {
    throw std::length_error("the probe " + std::string(probe.name) + " at " + text(probe.place) +
                            " needs more memory than is left for probes");
  }
  all.probes.push_back({probe, all.words});
  return std::exchange(all.words, all.words + probe.words);
}

block::block() {
  {
    registry& all = all_probes();
    const std::lock_guard lock(all.mutex);
    number_ = all.words;
  }
  // calloc, which does not touch large memory that comes from the system.
  std::size_t bytes = number_ * sizeof(std::uint64_t) + 2 * interference_bytes;
  memory_.reset(std::calloc(bytes, 1));
  if (memory_ == nullptr) throw std::bad_alloc();
  void* aligned = memory_.get();
  words_ = static_cast<std::uint64_t*>(
      std::align(interference_bytes, bytes - interference_bytes, aligned, bytes));
}

block::block(block&& other) noexcept
    : memory_(std::move(other.memory_)),
      words_(other.words_),
      number_(std::exchange(other.number_, 0)) {}

block& block::operator=(block&& other) noexcept {
  memory_ = std::move(other.memory_);
  words_ = other.words_;
  number_ = std::exchange(other.number_, 0);
  return *this;
}

void block::freer::operator()(void* memory) const { std::free(memory); }

std::span<const std::uint64_t> block::words(std::uint32_t first, std::uint32_t number) const {
  if (first >= number_) return {};
  return {words_ + first, number};
}

void begin_recording(block fresh) {
  if (own.into) throw std::logic_error("this thread already records into its probes");
  own.into = std::move(fresh);
  detail::thread_words = {own.into->words_, own.into->number_, detail::now_ns()};
}

block end_recording() {
  if (!own.into) throw std::logic_error("this thread does not record into its probes");
  detail::thread_words = {nullptr, 0, 0};
  block ended = std::move(*own.into);
  own.into.reset();
  return ended;
}

void check_declared() { checked(); }

const char* to_string(kind kind) {
  switch (kind) {
    case kind::counter:
      return "counter";
    case kind::maximum:
      return "maximum";
    case kind::histogram:
      return "histogram";
    case kind::series:
      return "series";
    case kind::summary:
      return "summary";
  }
  return "";
}

std::vector<recorded> report(std::span<const block> blocks) {
  std::vector<recorded> results;
  for (const auto& [declaration, first] : checked()) {
    std::vector<std::span<const std::uint64_t>> threads;
    for (const block& each : blocks) threads.push_back(each.words(first, declaration.words));
    recorded& result = results.emplace_back();
    result.name = declaration.name;
    result.kind = declaration.kind;
    result.description = declaration.description;
    result.unit = declaration.unit;
    switch (declaration.kind) {
      case kind::counter:
        read_counters(threads, result);
        break;
      case kind::maximum:
        read_maxima(threads, result);
        break;
      case kind::histogram:
        read_histograms(declaration.buckets, threads, result);
        break;
      case kind::series:
        read_series(threads, result);
        break;
      case kind::summary:
        read_summaries(threads, result);
        break;
    }
  }
  return results;
}

}  // namespace assay::probe
