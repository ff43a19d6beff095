// Looking into code while it is measured: how often does a search begin again, how deep does it go,
// how large are the batches in which memory is freed?
//
// Any measured code declares a probe in its own file, and records into it, by one line each:
//
//     static assay::probe::counter restarts{"restarts", "searches that began again"};
//     static assay::probe::maximum depth{"depth", "longest way from the root", "nodes"};
//     static assay::probe::histogram freed{"freed", "what is freed at once",
//                                          assay::probe::logarithmic(), "nodes"};
//     static assay::probe::series first{"first_freed", "what is freed at once", 10'000, "nodes"};
//     static assay::probe::summary load{"load", "how full tables are when they grow"};
//
//     restarts.add();    depth.record(steps);    freed.record(n);    first.record(n);
//     load.record(0.75);                  // of type double; its mean and variance are kept
//     const assay::probe::timer t(freed);  // records the nanoseconds from here to the scope's end
//     first.stamp();                       // records when this is, in nanoseconds
//
// That is all: the trial that measures the code finds its probes and reports them. The idea is that
// of Setbench's "gstats" (Kharal and Brown 2022, section 7.2), without its central list of names.
//
// Promises. Any thread records at any time. Each records into its own memory, and only while it is
// measured (see recording.h); at other times, and in threads that are not measured, recording does
// nothing. Every call is wait-free, allocates nothing and throws nothing. A counter costs three
// loads, a comparison and an addition; the others a few more, a linear histogram and a summary a
// division, and a timer two readings of std::chrono::steady_clock, only while it records.
// Compiled with ASSAY_PROBES=0, probes are empty classes that leave nothing in the binary and need
// no library; files compiled with and without them may be linked together.
//
// A probe has static storage duration: it is at namespace scope (`static` in a source file,
// `inline` in a header) or is an `inline static` member of a template, whose instances share one
// probe. As a member of another class it does not link under clang, which leaves a reference to the
// check of its name. The name becomes part of metrics' names; it must match [a-z][a-z0-9_]*, which
// the compiler checks. Two declarations of one name in a program are an error, which names both
// places as soon as probes are used (see recording.h); what several files share is declared in a
// header.

#ifndef ASSAY_PROBE_PROBE_H_
#define ASSAY_PROBE_PROBE_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <source_location>

#ifndef ASSAY_PROBES
#define ASSAY_PROBES 1
#endif

namespace assay::probe {

// The name of a probe. If a name does not match, the compiler complains of a call of this function,
// which nobody defines.
void a_probe_is_named_by_lower_case_letters_digits_and_underscores_after_a_letter();

class name {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a probe's declaration gives it as a literal
  consteval name(const char* text) : text_(text) {
    const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
    bool matches = letter(*text);
    for (const char* c = text; *c != '\0'; ++c) {
      matches = matches && (letter(*c) || (*c >= '0' && *c <= '9') || *c == '_');
    }
    if (!matches) a_probe_is_named_by_lower_case_letters_digits_and_underscores_after_a_letter();
  }
  constexpr const char* text() const { return text_; }

 private:
  const char* text_;
};

// How many values of each thread a series keeps: 8 bytes each, which the system gives as they are
// filled.
void a_series_keeps_one_to_a_million_values();

class capacity {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a probe's declaration gives it as a number
  consteval capacity(std::uint32_t values) : values_(values) {
    if (values == 0 || values > 1'000'000) a_series_keeps_one_to_a_million_values();
  }
  constexpr std::uint32_t values() const { return values_; }

 private:
  std::uint32_t values_;
};

// The buckets of a histogram; see logarithmic and linear.
struct buckets {
  std::uint64_t low = 0;    // of linear ones: the least value of the first
  std::uint64_t width = 0;  // of linear ones; 0 for logarithmic ones
  std::uint32_t number = 65;

  bool operator==(const buckets&) const = default;

  // The bucket that a value belongs to. The first and the last of linear ones hold what lies
  // outside.
  constexpr std::uint32_t of(std::uint64_t value) const {
    if (width == 0) return static_cast<std::uint32_t>(std::bit_width(value));
    if (value < low) return 0;
    const std::uint64_t inside = (value - low) / width;
    return inside < number - 2 ? static_cast<std::uint32_t>(inside) + 1 : number - 1;
  }
};

// 0, 1, 2 to 3, 4 to 7, and so on by powers of two.
consteval buckets logarithmic() { return {}; }

void linear_buckets_divide_low_to_high_less_one_into_equal_parts();

// `number` equally wide buckets for the values from `low` to `high` - 1, one for all below them,
// and one for `high` and all above. A value costs a division.
consteval buckets linear(std::uint64_t low, std::uint64_t high, std::uint32_t number) {
  if (number == 0 || number > 1'000'000 || low >= high || (high - low) % number != 0) {
    linear_buckets_divide_low_to_high_less_one_into_equal_parts();
  }
  return {.low = low, .width = (high - low) / number, .number = number + 2};
}

enum class kind : std::uint8_t { counter, maximum, histogram, series, summary };

// What the library does for probes that are compiled in.
namespace detail {

struct declaration {
  probe::kind kind;
  const char* name;
  const char* description;
  const char* unit;
  std::source_location place;
  probe::buckets buckets{};  // of a histogram
  std::uint32_t words = 0;   // of memory in each thread
};

// Makes a probe known; returns which word of a thread's memory is its first.
std::uint32_t declare(const declaration& probe);

// Where the calling thread records; no words while it does not. One comparison tells whether a
// probe has its words here. So it also keeps out a probe of a library that was loaded while the
// thread was already recording.
struct recorded_words {
  std::uint64_t* words;
  std::uint32_t number;
  std::uint64_t began_ns;  // by now_ns()

  bool have(std::uint32_t first) const { return first < number; }
};
inline thread_local constinit recorded_words thread_words{nullptr, 0, 0};

// By std::chrono::steady_clock, which is never 0: it counts from when the machine was started.
std::uint64_t now_ns() noexcept;

}  // namespace detail

#if ASSAY_PROBES

inline namespace in {

inline constexpr bool compiled_in = true;

// Counts events.
class counter {
 public:
  counter(name name, const char* description, const char* unit = "",
          std::source_location place = std::source_location::current())
      : first_(detail::declare({.kind = kind::counter,
                                .name = name.text(),
                                .description = description,
                                .unit = unit,
                                .place = place,
                                .words = 1})) {}
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  // Counts n events more.
  void add(std::uint64_t n = 1) const noexcept {
    if (detail::thread_words.have(first_)) detail::thread_words.words[first_] += n;
  }

 private:
  std::uint32_t first_;
};

// Keeps the largest value.
class maximum {
 public:
  using value_type = std::uint64_t;
  maximum(name name, const char* description, const char* unit = "",
          std::source_location place = std::source_location::current())
      : first_(detail::declare({.kind = kind::maximum,
                                .name = name.text(),
                                .description = description,
                                .unit = unit,
                                .place = place,
                                .words = 2})) {}
  maximum(const maximum&) = delete;
  maximum& operator=(const maximum&) = delete;

  // Keeps `value` if it is the largest so far.
  void record(std::uint64_t value) const noexcept {
    if (!detail::thread_words.have(first_)) return;
    std::uint64_t* const words = detail::thread_words.words + first_;
    ++words[0];
    if (value > words[1]) words[1] = value;
  }

 private:
  std::uint32_t first_;
};

// Counts values by size, and knows their exact mean, least and largest.
class histogram {
 public:
  using value_type = std::uint64_t;
  histogram(name name, const char* description, const buckets& buckets, const char* unit = "",
            std::source_location place = std::source_location::current())
      : first_(detail::declare({.kind = kind::histogram,
                                .name = name.text(),
                                .description = description,
                                .unit = unit,
                                .place = place,
                                .buckets = buckets,
                                .words = 4 + buckets.number})),
        buckets_(buckets) {}
  histogram(const histogram&) = delete;
  histogram& operator=(const histogram&) = delete;

  // Counts `value` in its bucket.
  void record(std::uint64_t value) const noexcept {
    if (!detail::thread_words.have(first_)) return;
    std::uint64_t* const words = detail::thread_words.words + first_;
    words[0] += value;
    words[1] += words[0] < value;              // the sum's upper half
    if (~value > words[2]) words[2] = ~value;  // of the least, so that 0 is none yet
    if (value > words[3]) words[3] = value;
    ++words[4 + buckets_.of(value)];
  }

 private:
  std::uint32_t first_;
  buckets buckets_;
};

// Keeps each thread's first values, in order.
class series {
 public:
  using value_type = std::uint64_t;
  series(name name, const char* description, capacity capacity, const char* unit = "",
         std::source_location place = std::source_location::current())
      : first_(detail::declare({.kind = kind::series,
                                .name = name.text(),
                                .description = description,
                                .unit = unit,
                                .place = place,
                                .words = 1 + capacity.values()})),
        capacity_(capacity.values()) {}
  series(const series&) = delete;
  series& operator=(const series&) = delete;

  // Keeps `value` if there is room, and counts it in any case.
  void record(std::uint64_t value) const noexcept {
    if (!detail::thread_words.have(first_)) return;
    std::uint64_t* const words = detail::thread_words.words + first_;
    if (words[0] < capacity_) words[1 + words[0]] = value;
    ++words[0];
  }

  // The same of the nanoseconds since the thread began to record, which all threads of a trial do
  // together.
  void stamp() const noexcept {
    if (detail::thread_words.have(first_)) record(detail::now_ns() - detail::thread_words.began_ns);
  }

 private:
  std::uint32_t first_;
  std::uint32_t capacity_;
};

// Keeps mean, variance, least and largest of numbers of type double.
class summary {
 public:
  using value_type = double;
  summary(name name, const char* description, const char* unit = "",
          std::source_location place = std::source_location::current())
      : first_(detail::declare({.kind = kind::summary,
                                .name = name.text(),
                                .description = description,
                                .unit = unit,
                                .place = place,
                                .words = 5})) {}
  summary(const summary&) = delete;
  summary& operator=(const summary&) = delete;

  // Leaves out what is infinite or not a number. The mean and the sum of squared differences from
  // it are updated after Welford (1962), which loses no digits where the mean is large.
  void record(double value) const noexcept {
    if (!detail::thread_words.have(first_) || !std::isfinite(value)) return;
    std::uint64_t* const words = detail::thread_words.words + first_;
    const std::uint64_t count = ++words[0];
    const auto number = [&](int i) { return std::bit_cast<double>(words[i]); };
    const double difference = value - number(1);
    const double mean = number(1) + difference / static_cast<double>(count);
    words[2] = std::bit_cast<std::uint64_t>(number(2) + difference * (value - mean));
    words[1] = std::bit_cast<std::uint64_t>(mean);
    if (count == 1 || value < number(3)) words[3] = std::bit_cast<std::uint64_t>(value);
    if (count == 1 || value > number(4)) words[4] = std::bit_cast<std::uint64_t>(value);
  }

 private:
  std::uint32_t first_;
};

// Records into a probe the nanoseconds from its own construction to its destruction, if the thread
// records at both.
template <class Probe>
class [[nodiscard]] timer {
 public:
  explicit timer(const Probe& into) noexcept
      : into_(into), began_ns_(detail::thread_words.number == 0 ? 0 : detail::now_ns()) {}
  ~timer() {
    if (began_ns_ == 0) return;
    into_.record(static_cast<typename Probe::value_type>(detail::now_ns() - began_ns_));
  }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

 private:
  const Probe& into_;
  std::uint64_t began_ns_;
};

}  // namespace in

#else

inline namespace out {

inline constexpr bool compiled_in = false;

class counter {
 public:
  consteval counter(name, const char*, const char* = "") {}
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  [[gnu::always_inline]] void add(std::uint64_t = 1) const noexcept {}
};

class maximum {
 public:
  consteval maximum(name, const char*, const char* = "") {}
  maximum(const maximum&) = delete;
  maximum& operator=(const maximum&) = delete;
  [[gnu::always_inline]] void record(std::uint64_t) const noexcept {}
};

class histogram {
 public:
  consteval histogram(name, const char*, const buckets&, const char* = "") {}
  histogram(const histogram&) = delete;
  histogram& operator=(const histogram&) = delete;
  [[gnu::always_inline]] void record(std::uint64_t) const noexcept {}
};

class series {
 public:
  consteval series(name, const char*, capacity, const char* = "") {}
  series(const series&) = delete;
  series& operator=(const series&) = delete;
  [[gnu::always_inline]] void record(std::uint64_t) const noexcept {}
  [[gnu::always_inline]] void stamp() const noexcept {}
};

class summary {
 public:
  consteval summary(name, const char*, const char* = "") {}
  summary(const summary&) = delete;
  summary& operator=(const summary&) = delete;
  [[gnu::always_inline]] void record(double) const noexcept {}
};

template <class Probe>
class [[nodiscard, maybe_unused]] timer {
 public:
  [[gnu::always_inline]] constexpr explicit timer(const Probe&) noexcept {}
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
};

}  // namespace out

#endif

}  // namespace assay::probe

#endif  // ASSAY_PROBE_PROBE_H_
