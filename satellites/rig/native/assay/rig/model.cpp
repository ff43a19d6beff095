#include "assay/rig/model.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "assay/input/message.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/ends.h"
#include "assay/rig/history.h"
#include "assay/rig/watch/watchdog.h"

namespace assay::rig {
namespace {

using subject::answer;
using subject::element;
using subject::held_types;
using subject::question;
using subject::subject_entry;
using workload::operation;

class model {
 public:
  answer ask(const question& asked) {
    if (asked.kind > operation::iterate) {
      return subject::extra_facts_of(asked.kind).right(elements_, asked);
    }
    switch (asked.kind) {
      case operation::insert:
        return elements_.emplace(asked.key, asked.value).second;
      case operation::erase:
        return elements_.erase(asked.key) != 0;
      case operation::find: {
        const auto found = elements_.find(asked.key);
        return found == elements_.end() ? std::nullopt : std::optional(found->second);
      }
      case operation::size:
        return std::uint64_t{elements_.size()};
      case operation::range:
        if (asked.last < asked.key) return std::vector<element>();
        return std::vector<element>(elements_.lower_bound(asked.key),
                                    elements_.upper_bound(asked.last));
      default:
        return all();
    }
  }
  [[nodiscard]] std::vector<element> all() const { return {elements_.begin(), elements_.end()}; }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }

 private:
  subject::elements elements_;
};

// Only what spans promises an order.
answer in_order(answer answered, operation kind) {
  auto* const met = std::get_if<std::vector<element>>(&answered);
  if (met != nullptr && !workload::facts_of(kind).spans) {
    std::ranges::sort(*met);
  }
  return answered;
}

// Answers of many elements are described by the first place where they differ.
std::pair<std::string, std::string> both_as_text(const answer& got, const answer& expected) {
  constexpr std::size_t few = 8;
  const auto* met = std::get_if<std::vector<element>>(&got);
  const auto* held = std::get_if<std::vector<element>>(&expected);
  if (met == nullptr || held == nullptr || std::max(met->size(), held->size()) <= few) {
    return {to_string(got), to_string(expected)};
  }
  const auto at = std::ranges::mismatch(*met, *held);
  const auto tell = [](const std::vector<element>& all, auto next) {
    return std::to_string(all.size()) + " elements, after the first " +
           std::to_string(next - all.begin()) + " " +
           to_string(next == all.end() ? std::vector<element>() : std::vector<element>{*next});
  };
  return {tell(*met, at.in1), tell(*held, at.in2)};
}

using std::chrono::steady_clock;

// Where a sequence of operations first led to something else than in a std::map.
struct difference {
  std::size_t at;  // the number of the operation; their count if it is what was looked at after all
  std::string what;
  std::string got;
  std::string expected;
};

// Numbers for keys: `count` different ones up to `greatest`, in one of three layouts.
class palette {
 public:
  palette(random::splitmix64& draw, std::uint64_t count, std::uint64_t least,
          std::uint64_t greatest)
      : count_(count), least_(least), span_(greatest - least), layout_(draw() % 3), salt_(draw()) {}

  std::uint64_t operator()(random::splitmix64& draw) const { return at(draw() % count_); }

  [[nodiscard]] std::uint64_t at(std::uint64_t i) const {
    if (layout_ == 0) return least_ + i;
    if (layout_ == 1 || i == 0) return least_ + span_ - i;
    const std::uint64_t anywhere = random::mix64(salt_ + i);
    return i == 1 ? least_ : least_ + (span_ == UINT64_MAX ? anywhere : anywhere % (span_ + 1));
  }

  // A number that is greater than only a few of the keys above `key`.
  std::uint64_t near(random::splitmix64& draw, std::uint64_t key) const {
    const std::uint64_t most = layout_ == 2 ? span_ / count_ : 1;
    return key + std::min(most * (draw() % 64), least_ + span_ - key);
  }

 private:
  std::uint64_t count_;
  std::uint64_t least_;
  std::uint64_t span_;
  std::uint64_t layout_;
  std::uint64_t salt_;
};

// A number in memory that a process has in common with those that it begins.
using shared_place = std::atomic<std::uint64_t>;
static_assert(shared_place::is_always_lock_free);

struct unmap {
  void operator()(shared_place* place) const { munmap(place, sizeof *place); }
};

std::unique_ptr<shared_place, unmap> new_shared_place() {
  void* const memory = mmap(nullptr, sizeof(shared_place), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return std::unique_ptr<shared_place, unmap>(new (memory) shared_place(0));
}

// Sequences of operations for a map of one type of key and value.
class sequences {
 public:
  sequences(const subject_entry& subject, const held_types& types, std::uint64_t keys,
            watchdog* watch)
      : subject_(subject), types_(types), keys_(keys), watch_(watch) {}

  // From now on a difference is an end by this signal: each sequence is tried in a process of its
  // own.
  void look_for_death_by(int signal, shared_place& place) {
    signal_ = signal;
    place_ = &place;
  }

  // One that grows inserts one key after the other, most of the time.
  std::vector<question> draw(std::uint64_t seed, std::uint64_t length, std::uint64_t keys,
                             bool grows) const {
    random::splitmix64 draw(seed);
    const palette any_key(draw, keys, least_key(subject_), greatest_key(subject_, types_.key));
    std::uint64_t next = 0;
    std::vector<question> all;
    all.reserve(length);
    for (std::uint64_t i = 0; i < length; ++i) {
      if (grows && next < keys && draw() % 16 != 0) {
        all.push_back(
            {.kind = operation::insert, .key = any_key.at(next++), .value = value(draw, i)});
        continue;
      }
      // Updates are most of the operations, whatever else a map offers.
      const bool update = draw() % 2 == 0;
      operation kind = update ? static_cast<operation>(draw() % 2)
                              : subject_.operations[draw() % subject_.operations.size()];
      // What may meet thousands of elements takes as long as thousands of operations.
      const bool far = draw() % std::max<std::uint64_t>(keys / 256, 1) == 0;
      if (!far && meets_all(kind)) kind = operation::find;
      const std::uint64_t key = any_key(draw);
      const std::uint64_t last = far ? any_key(draw) : any_key.near(draw, key);
      all.push_back({.kind = kind, .key = key, .value = value(draw, i), .last = last});
    }
    return all;
  }

  // Leaves in `all` what was asked: operations up to the difference, and some at least, but hardly
  // any after the deadline.
  std::optional<difference> first_difference(std::vector<question>& all,
                                             steady_clock::time_point deadline) const {
    return signal_ == 0 ? answered_differently(all, deadline) : death(all, deadline);
  }

 private:
  std::optional<difference> answered_differently(std::vector<question>& all,
                                                 steady_clock::time_point deadline) const {
    model right;
    auto built = build_as(types_, keys_, 1);
    const auto map = watch_ != nullptr ? watch_->over(std::move(built)) : std::move(built);
    {
      const auto handle = map->attach();
      for (std::size_t i = 0; i < all.size(); ++i) {
        constexpr std::size_t seldom = 64;  // a look at the clock takes as long as some operations
        if (i % seldom == seldom - 1 && steady_clock::now() > deadline) {
          all.resize(i);
          break;
        }
        if (place_ != nullptr) place_->store(i, std::memory_order_relaxed);
        if (auto found = ask(*handle, right, all[i], i)) {
          all.resize(i + 1);
          return found;
        }
      }
    }
    if (place_ != nullptr) place_->store(all.size(), std::memory_order_relaxed);
    return at_rest(*map, right, all.size());
  }

  // Only this thread is in the new process, so that nothing there may wait for another one. A
  // sequence that does not end there is ended by another signal than the one looked for.
  std::optional<difference> death(std::vector<question>& all,
                                  steady_clock::time_point deadline) const {
    const pid_t child = fork();
    if (child == 0) {
      constexpr unsigned longest_s = 2;
      alarm(longest_s);
      // What the C library says of a damaged heap was said once.
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      answered_differently(all, deadline);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status) ||
        WTERMSIG(status) != signal_) {
      return std::nullopt;
    }
    const std::size_t at = place_->load(std::memory_order_relaxed);
    model right;
    for (std::size_t i = 0; i < at; ++i) right.ask(all[i]);
    const std::string got =
        std::string("ended by ") + strsignal(signal_);  // NOLINT(concurrency-mt-unsafe)
    if (at == all.size()) return difference{at, "a walk, or the map's end", got, "no such end"};
    all.resize(at + 1);
    return difference{at, to_string(all[at]), got, to_string(right.ask(all[at]))};
  }

  static bool meets_all(operation kind) {
    if (kind <= operation::size) return false;
    if (kind <= operation::iterate) return true;
    return subject::extra_facts_of(kind).visits && !workload::facts_of(kind).spans;
  }

  // Mostly one that says which operation inserted it, and now and then the least or the greatest.
  [[nodiscard]] std::uint64_t value(random::splitmix64& draw, std::uint64_t number) const {
    const std::uint64_t luck = draw() % 16;
    const std::uint64_t greatest = subject_.greatest_value(types_.value);
    std::uint64_t value = luck == 0 ? 0 : luck == 1 ? greatest : number;
    while (subject_.reserves(value)) value = (value + 1) & greatest;
    return value;
  }

  static std::optional<difference> ask(subject::any_handle& handle, model& right,
                                       const question& one, std::size_t number) {
    const answer expected = right.ask(one);
    const auto differs = [&](std::string got, std::string wanted) {
      return difference{number, to_string(one), std::move(got), std::move(wanted)};
    };
    try {
      const answer got = in_order(handle.ask(one), one.kind);
      if (got == expected) return std::nullopt;
      auto [got_text, expected_text] = both_as_text(got, expected);
      return differs(std::move(got_text), std::move(expected_text));
    } catch (const std::exception& error) {
      return differs("an exception: " + input::message(error.what()), to_string(expected));
    } catch (...) {
      return differs("an exception", to_string(expected));
    }
  }

  // Enough elements are asked for to tell that the walk met too many.
  static std::optional<difference> at_rest(subject::any_map& map, const model& right,
                                           std::size_t after) try {
    if (auto broken = map.broken_invariant()) {
      return difference{after, "a look at its invariants", std::move(*broken), "nothing"};
    }
    const answer expected = right.all();
    const answer got = in_order(walk(map, 2 * right.size() + 1), operation::iterate);
    if (got == expected) return std::nullopt;
    auto [got_text, expected_text] = both_as_text(got, expected);
    return difference{after, "a walk", std::move(got_text), std::move(expected_text)};
  } catch (const std::exception& error) {
    return difference{after, "a walk", "an exception: " + input::message(error.what()),
                      to_string(answer(right.all()))};
  }

  const subject_entry& subject_;
  const held_types& types_;
  std::uint64_t keys_;
  watchdog* watch_;
  int signal_ = 0;
  shared_place* place_ = nullptr;
};

struct failure {
  std::vector<question> operations;  // up to the one that differs
  difference found;
};

// Without the operations before the last that `is_needed` denies, if what is left still ends in a
// difference.
failure leave_out(const sequences& tried, failure least, steady_clock::time_point deadline,
                  auto is_needed) {
  std::vector<question> less;
  for (std::size_t i = 0; i < least.operations.size(); ++i) {
    if (i + 1 == least.operations.size() || is_needed(i)) less.push_back(least.operations[i]);
  }
  if (less.size() == least.operations.size()) return least;
  auto found = tried.first_difference(less, deadline);
  return found ? failure{std::move(less), std::move(*found)} : least;
}

// Most of the operations of a long sequence have changed nothing.
failure leave_out_idle(const sequences& tried, failure least, steady_clock::time_point deadline) {
  model right;
  std::vector<bool> changed;
  for (const question& one : least.operations) {
    const std::size_t before = right.size();
    // What one beyond those changes may be a value.
    const bool may_change = one.kind <= operation::erase || one.kind > operation::iterate;
    if (may_change) right.ask(one);
    changed.push_back(right.size() != before || one.kind > operation::iterate);
  }
  return leave_out(tried, std::move(least), deadline, [&](std::size_t i) { return changed[i]; });
}

// `all` without the operations about keys of these ranks; the last operation stays.
std::vector<question> without_keys(const std::vector<question>& all,
                                   const std::map<std::uint64_t, std::size_t>& ranks,
                                   std::size_t begin, std::size_t end) {
  std::vector<question> less;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t rank = ranks.at(all[i].key);
    if (i + 1 == all.size() || rank < begin || rank >= end) less.push_back(all[i]);
  }
  return less;
}

// Leaves out ever smaller groups of keys.
failure leave_out_keys(const sequences& tried, failure least, steady_clock::time_point deadline) {
  std::map<std::uint64_t, std::size_t> ranks;
  for (const question& one : least.operations) ranks.emplace(one.key, ranks.size());
  for (std::size_t piece = ranks.size() / 2; piece > 0; piece /= 2) {
    for (std::size_t end = ranks.size(); end > 0; end -= std::min(piece, end)) {
      if (steady_clock::now() > deadline) return least;
      auto less = without_keys(least.operations, ranks, end - std::min(piece, end), end);
      if (less.size() == least.operations.size()) continue;
      if (auto found = tried.first_difference(less, deadline)) {
        least = {std::move(less), std::move(*found)};
      }
    }
  }
  return least;
}

// Leaves out ever smaller pieces of what led to a difference, as long as there still is one
// (Zeller and Hildebrandt 2002, Simplifying and isolating failure-inducing input): first keys, then
// operations. Ends after some seconds: it is better to report a difference late in a long sequence
// than never.
failure shrink(const sequences& tried, failure least, std::chrono::milliseconds longest) {
  const auto begin_time = steady_clock::now();
  const auto deadline = begin_time + longest;
  least = leave_out_idle(tried, std::move(least), deadline);
  least = leave_out_keys(tried, std::move(least), begin_time + longest / 2);
  for (std::size_t piece = std::max<std::size_t>(least.operations.size() / 2, 1); piece > 0;) {
    bool smaller = false;
    for (std::size_t end = least.operations.size(); end > 0;) {
      if (steady_clock::now() > deadline) return least;
      const std::size_t begin = end - std::min(piece, end);
      std::vector<question> less = least.operations;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(begin),
                 less.begin() + static_cast<std::ptrdiff_t>(end));
      end = begin;
      if (auto found = tried.first_difference(less, deadline)) {
        least = {std::move(less), std::move(*found)};
        end = std::min(end, least.operations.size());
        smaller = true;
      }
    }
    // What is left out may make more superfluous.
    if (piece > 1 || !smaller) piece /= 2;
  }
  return least;
}

std::string shortened(std::string text) {
  constexpr std::size_t most = 120;
  if (text.size() > most) text.replace(most - 4, std::string::npos, " ...");
  return text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

// What the operations answered before the one that differs is what std::map answers.
std::string print(const failure& least) {
  constexpr std::size_t most_lines = 20;
  const std::size_t first =
      least.operations.size() > most_lines ? least.operations.size() - most_lines : 0;
  std::size_t width = least.found.what.size();
  for (const question& one : least.operations) width = std::max(width, to_string(one).size());
  std::string text;
  if (first > 0) text += "  ... " + std::to_string(first) + " operations before\n";
  model right;
  for (std::size_t i = 0; i < least.operations.size() && i < least.found.at; ++i) {
    const answer answered = right.ask(least.operations[i]);
    if (i < first) continue;
    text += "  " + padded(to_string(least.operations[i]), width + 2) +
            shortened(to_string(answered)) + '\n';
  }
  return text + "  " + padded(least.found.what, width + 2) + shortened(least.found.got) +
         "   but std::map: " + shortened(least.found.expected) + '\n';
}

// Returns when `done` of `parts` equal parts of the time are over; the end of time if none is
// given.
steady_clock::time_point end_of_share(steady_clock::time_point begin,
                                      std::optional<std::chrono::duration<double>> duration,
                                      std::size_t done, std::size_t parts) {
  if (!duration) return steady_clock::time_point::max();
  const auto share = *duration * static_cast<double>(done) / static_cast<double>(parts);
  return begin + std::chrono::duration_cast<steady_clock::duration>(share);
}

std::string describe(const subject_entry& subject, const held_types& types, std::uint64_t seed,
                     std::string_view which, const failure& least) {
  return subject.name + " differs from std::map in " + shortened(least.found.what) + ". Seed " +
         std::to_string(seed) + ", keys of " + to_string(types.key) + " and values of " +
         to_string(types.value) + "; " + std::string(which) + ", on an empty map:\n" + print(least);
}

// Hands on the sequences of a check, one after the other: the types, what tries them, the sequence,
// and when it has had its time. Ends when `visit` says so.
template <class Visit>
void each_sequence(const subject_entry& subject, const modelling& asked, watchdog* watch,
                   Visit visit) {
  constexpr std::uint64_t few = 200;
  random::splitmix64 draw(asked.seed);
  const std::uint64_t of_each = std::max<std::uint64_t>(asked.operations / subject.types.size(), 1);
  const auto begin = steady_clock::now();
  for (std::size_t type = 0; type < subject.types.size(); ++type) {
    const auto& types = subject.types[type];
    sequences tried(subject, types, asked.keys, watch);
    const auto end = end_of_share(begin, asked.duration, type + 1, subject.types.size());
    // A sequence that grows to many keys, a long one, and then short ones of fewer keys. Each of
    // the first two takes half of the time that is left, at most.
    std::uint64_t number = 0;
    for (std::uint64_t done = 0; done < of_each; ++number) {
      const bool grows = number == 0;
      const std::uint64_t length = grows ? std::min((of_each + 1) / 2, asked.keys + asked.keys / 8)
                                   : number == 1 ? (of_each - done + 1) / 2
                                                 : 1 + draw() % 200;
      const std::uint64_t keys = number < 2 ? asked.keys : 1 + draw() % std::min(asked.keys, few);
      const auto now = steady_clock::now();
      if (number > 0 && now > end) break;
      done += length;
      if (!visit(types, tried, tried.draw(draw(), length, keys, grows),
                 number < 2 ? now + (end - now) / 2 : end)) {
        return;
      }
    }
  }
}

// The check by this process. Counts in `begun` the sequences that have begun.
modelled check_here(const subject_entry& subject, const modelling& asked, shared_place& begun) {
  watchdog watch({.check = "model", .map = subject.name, .seed = asked.seed});
  modelled seen;
  each_sequence(subject, asked, &watch,
                [&](const held_types& types, sequences& tried, std::vector<question> all,
                    steady_clock::time_point end) {
                  begun.fetch_add(1, std::memory_order_relaxed);
                  auto found = tried.first_difference(all, end);
                  seen.operations += all.size();
                  if (!found) return true;
                  failure least{std::move(all), std::move(*found)};
                  watch.note(describe(subject, types, asked.seed, "what was found first", least));
                  // A map that chance has a part in need not differ again.
                  least = shrink(tried, std::move(least), asked.shrinking);
                  seen.problem =
                      describe(subject, types, asked.seed, "the smallest of what was tried", least);
                  return false;
                });
  return seen;
}

// Makes the last sequence smaller that was begun when a signal ended a process. Uses further
// processes. Empty if the sequence does not lead there again.
std::string smallest_death(const subject_entry& subject, modelling asked, std::uint64_t begun,
                           int signal) {
  asked.duration.reset();  // the same sequences, none left out for want of time
  const auto place = new_shared_place();
  std::string problem;
  std::uint64_t number = 0;
  each_sequence(
      subject, asked, nullptr,
      [&](const held_types& types, sequences& tried, std::vector<question> all,
          steady_clock::time_point) {
        if (++number < begun) return true;
        tried.look_for_death_by(signal, *place);
        const auto longest = steady_clock::time_point::max();
        if (auto found = tried.first_difference(all, longest)) {
          const failure least = shrink(tried, {std::move(all), std::move(*found)}, asked.shrinking);
          problem = describe(subject, types, asked.seed, "the smallest of what was tried", least);
        }
        return false;
      });
  return problem;
}

// All of it, whatever signals come.
void send(int pipe, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::write(pipe, next, bytes);
    if (sent < 0) _exit(1);
    next += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

}  // namespace

modelled check_model(const subject_entry& subject, const modelling& asked) {
  const auto begun = new_shared_place();
  return check_here(subject, asked, *begun);
}

modelled check_model_apart(const subject_entry& subject, const modelling& asked) {
  const auto begun = new_shared_place();
  std::array<int, 2> channel{};
  if (pipe(channel.data()) != 0) return check_here(subject, asked, *begun);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return check_here(subject, asked, *begun);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(channel[0]);
    const modelled seen = check_here(subject, asked, *begun);
    send(channel[1], &seen.operations, sizeof seen.operations);
    send(channel[1], seen.problem.data(), seen.problem.size());
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): a sanitizer looks for what was not freed
  }
  close(channel[1]);
  std::string answered;
  std::array<char, 4096> some{};
  for (ssize_t got = 0; (got = read(channel[0], some.data(), some.size())) > 0;) {
    answered.append(some.data(), static_cast<std::size_t>(got));
  }
  close(channel[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child)
    throw std::runtime_error("a process of the check is lost");
  modelled seen;
  if (answered.size() >= sizeof seen.operations) {
    std::memcpy(&seen.operations, answered.data(), sizeof seen.operations);
    seen.problem = answered.substr(sizeof seen.operations);
  }
  if (WIFSIGNALED(status)) {
    seen.ended_by = WTERMSIG(status);
    constexpr std::array crashes{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP};
    if (seen.problem.empty() && std::ranges::find(crashes, seen.ended_by) != crashes.end()) {
      seen.problem =
          smallest_death(subject, asked, begun->load(std::memory_order_relaxed), seen.ended_by);
    }
  } else if (status != 0) {
    // The watchdog or a sanitizer has said why.
    std::fwrite(seen.problem.data(), 1, seen.problem.size(), stdout);
    std::fflush(nullptr);
    std::_Exit(WEXITSTATUS(status));
  }
  return seen;
}

}  // namespace assay::rig
