#include "assay/rig/entry_histories.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "assay/measure/crew.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/interfere/preemption.h"

namespace assay::rig {
namespace {

using kind = entry_call::kind;
using number = std::uint64_t;
using time = std::int64_t;

constexpr time before_all = std::numeric_limits<time>::min();
constexpr time after_all = std::numeric_limits<time>::max();

// --- the judge ----------------------------------------------------------------------------------

// When an entry was inserted and erased: at some moment of each call.
struct life {
  number entry;
  time insert_call;
  time insert_return;
  const entry_call* erased = nullptr;

  [[nodiscard]] time erase_call() const { return erased == nullptr ? after_all : erased->call_ns; }
  [[nodiscard]] time erase_return() const {
    return erased == nullptr ? after_all : erased->return_ns;
  }
};

// When the entries that had been inserted by now began to be erased: the greatest of each half of
// them, of each quarter, and so on.
class erase_times {
 public:
  explicit erase_times(std::size_t size)
      : leaves_(std::bit_ceil(size + 1)), greatest_(2 * leaves_, before_all) {}

  void set(std::size_t i, time erased) {
    for (std::size_t node = leaves_ + i; node > 0; node /= 2) {
      greatest_[node] = std::max(greatest_[node], erased);
    }
  }
  // The first from i on that was not erased until after `end`, or what is beyond all.
  [[nodiscard]] std::size_t first_after(std::size_t i, time end) const {
    std::size_t node = leaves_ + i;
    while (greatest_[node] <= end) {
      while (node % 2 == 1) node /= 2;
      if (node == 0) return leaves_;
      ++node;
    }
    while (node < leaves_) node = greatest_[2 * node] > end ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

 private:
  std::size_t leaves_;
  std::vector<time> greatest_;  // of the whole at 1, of the halves of node i at 2 i and 2 i + 1
};

std::string name_of(const entry_call& call) {
  constexpr std::array names{"insert", "search", "erase", "erase_near", "visit"};
  std::string text = names.at(static_cast<std::size_t>(call.asked));
  text += '(';
  text += std::to_string(call.lo);
  if (call.asked != kind::insert) text += ", " + std::to_string(call.hi);
  return text + ") from " + std::to_string(call.call_ns) + " to " + std::to_string(call.return_ns);
}

class judge {
 public:
  judge(const entry_history& seen, std::size_t near) : seen_(seen), near_(near) {}

  std::optional<std::string> first_broken() {
    note_inserts();
    if (auto broken = note_erases()) return broken;
    if (auto broken = look_at_end()) return broken;
    return look_at_answers();
  }

 private:
  void note_inserts() {
    for (const entry_call& call : seen_.calls) {
      if (call.asked != kind::insert) continue;
      lives_.push_back({call.lo, call.call_ns, call.return_ns});
    }
    std::ranges::sort(lives_, {}, &life::entry);
    const auto twice = std::ranges::adjacent_find(lives_, {}, &life::entry);
    if (twice != lives_.end()) {
      throw std::invalid_argument(std::to_string(twice->entry) + " is inserted twice");
    }
  }

  // The rank of the first entry that is not less.
  [[nodiscard]] std::size_t rank_of(number entry) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(lives_, entry, {}, &life::entry) -
                                    lives_.begin());
  }
  [[nodiscard]] life* life_of(number entry) {
    const std::size_t rank = rank_of(entry);
    return rank < lives_.size() && lives_[rank].entry == entry ? &lives_[rank] : nullptr;
  }

  std::optional<std::string> note_erases() {
    for (const entry_call& call : seen_.calls) {
      if (call.asked != kind::erase && call.asked != kind::erase_near) continue;
      if (!call.found) continue;
      life* const of = life_of(*call.found);
      if (of == nullptr) return answer(call, *call.found, "which was never inserted");
      if (of->erased != nullptr) {
        return answer(call, *call.found, "as did " + name_of(*of->erased));
      }
      of->erased = &call;
    }
    return std::nullopt;
  }

  std::optional<std::string> look_at_end() {
    if (std::ranges::adjacent_find(seen_.end, std::greater_equal()) != seen_.end.end()) {
      return "the walk at the end does not ascend";
    }
    std::vector<number> expected;
    for (const life& each : lives_) {
      if (each.erased == nullptr) expected.push_back(each.entry);
    }
    const auto [was_not, is_not] = std::ranges::mismatch(expected, seen_.end);
    if (was_not == expected.end() && is_not == seen_.end.end()) return std::nullopt;
    if (is_not == seen_.end.end() || (was_not != expected.end() && *was_not < *is_not)) {
      return std::to_string(*was_not) +
             " was inserted and not erased, and is gone at the end (A.16)";
    }
    return std::to_string(*is_not) + " is there at the end, and was " +
           (life_of(*is_not) == nullptr ? "never inserted" : "erased") + " (A.16)";
  }

  // In the order in which calls begin, so that what had been inserted before each is known.
  std::optional<std::string> look_at_answers() {
    std::vector<const entry_call*> calls;
    calls.reserve(seen_.calls.size());
    for (const entry_call& call : seen_.calls) calls.push_back(&call);
    std::ranges::sort(calls, {}, &entry_call::call_ns);
    std::vector<std::size_t> inserted(lives_.size());  // by the returns of their inserts
    for (std::size_t i = 0; i < inserted.size(); ++i) inserted[i] = i;
    std::ranges::sort(inserted, {}, [&](std::size_t i) { return lives_[i].insert_return; });
    erase_times there(lives_.size());
    auto next = inserted.begin();
    for (const entry_call* const call : calls) {
      while (next != inserted.end() && lives_[*next].insert_return < call->call_ns) {
        there.set(*next, lives_[*next].erase_call());
        ++next;
      }
      if (auto broken = look_at(*call, there)) return broken;
    }
    return std::nullopt;
  }

  std::optional<std::string> look_at(const entry_call& call, const erase_times& there) {
    if (call.asked == kind::insert) return std::nullopt;
    std::vector<number> visited = call.visited;
    if (call.found) visited.push_back(*call.found);
    if (std::ranges::adjacent_find(visited, std::greater_equal()) != visited.end()) {
      return name_of(call) + " does not ascend";
    }
    for (const number entry : visited) {
      if (entry < call.lo || call.hi < entry) return answer(call, entry, "outside its range");
      const life* const of = life_of(entry);
      if (of == nullptr) return answer(call, entry, "which was never inserted");
      if (of->insert_call > call.return_ns) {
        return answer(call, entry,
                      "whose insert began at " + std::to_string(of->insert_call) + " (A.13, A.15)");
      }
      if (of->erase_return() < call.call_ns) {
        return answer(call, entry, "which " + name_of(*of->erased) + " had removed (A.13, A.15)");
      }
    }
    return look_at_missing(call, visited, there);
  }

  // Those that were there all the time, and should have been found.
  std::optional<std::string> look_at_missing(const entry_call& call,
                                             const std::vector<number>& found,
                                             const erase_times& there) {
    // What was found ends what a search or an erase has looked for.
    const bool looks_at_all = call.asked == kind::visit || found.empty();
    if (call.asked == kind::search && !looks_at_all) return std::nullopt;
    std::size_t missing = 0;
    const std::size_t allowed = call.asked == kind::erase_near && !found.empty() ? near_ : 0;
    std::size_t rank = there.first_after(rank_of(call.lo), call.return_ns);
    for (; rank < lives_.size(); rank = there.first_after(rank + 1, call.return_ns)) {
      const number entry = lives_[rank].entry;
      if (entry > (looks_at_all ? call.hi : found.front())) break;
      if (std::ranges::binary_search(found, entry) || ++missing <= allowed) continue;
      return name_of(call) +
             (found.empty() ? " found none" : " found " + std::to_string(found[0])) + ", and " +
             std::to_string(entry) + " was there all the time: inserted by " +
             std::to_string(lives_[rank].insert_return) + " (A.12, A.14, A.15)";
    }
    return std::nullopt;
  }

  static std::string answer(const entry_call& call, number entry, const std::string& what) {
    return name_of(call) + " answered " + std::to_string(entry) + ", " + what;
  }

  const entry_history& seen_;
  std::size_t near_;
  std::vector<life> lives_;
};

// --- the recorder -------------------------------------------------------------------------------

constexpr unsigned key_shift = 32;
constexpr unsigned thread_shift = 24;
constexpr number of_one_key = (number{1} << key_shift) - 1;

class call_recorder {
 public:
  call_recorder(entry_caller make, const entry_recording& asked, unsigned self,
                const stamp_clock& clock, std::uint64_t start)
      : make_(std::move(make)),
        asked_(asked),
        self_(self),
        clock_(clock),
        start_(start),
        draw_(random::derive_seed(asked.seed, self)) {
    calls_.reserve(asked.operations);
  }

  std::vector<entry_call> act() {
    disturbance strikes(draw_());
    const disturbance::scope disturbed(strikes);
    for (std::uint64_t i = 0; i < asked_.operations;) {
      const preemption often(draw_());
      for (const std::uint64_t end = std::min(i + 64, asked_.operations); i < end; ++i) {
        act_once(i);
      }
    }
    return std::move(calls_);
  }

 private:
  void act_once(std::uint64_t i) {
    const bool grows = i * 7 / asked_.operations % 2 == 0;  // also at the end
    const number chosen = draw_() % 8;
    if (chosen < (grows ? 4U : 1U)) {
      const number entry = some_key() | number{self_} << thread_shift | i;
      last_ = entry;
      return call(kind::insert, entry, entry);
    }
    if (asked_.over == entry_ranges::all) {
      return call(chosen % 2 == 0 ? kind::erase : kind::erase_near, 0, greatest_entry);
    }
    const number key = some_key();
    std::pair range{key, key | of_one_key};
    if (draw_() % 4 == 0) range = {last_, last_};
    if (asked_.over == entry_ranges::any) {
      if (draw_() % 4 == 0) range.second = std::max(range.second, some_key() | of_one_key);
      if (draw_() % 8 == 0) range.first = 0;
    }
    const bool is_from_on = draw_() % 4 == 0;
    const number end = is_from_on ? greatest_entry : range.second;
    if (chosen < 5) {
      call(kind::erase, is_from_on ? key : range.first, end);
    } else if (chosen == 5) {
      call(kind::erase_near, is_from_on ? key : range.first, end);
    } else if (chosen == 6) {
      call(kind::search, range.first, range.second);
    } else {
      if (asked_.over == entry_ranges::of_keys) range = {key, key | of_one_key};
      call(kind::visit, range.first, range.second);
    }
  }
  void call(kind what, number lo, number hi) {
    entry_call now{.asked = what, .lo = lo, .hi = hi};
    const std::uint64_t begun = clock_.before();
    make_(now);
    const std::uint64_t ended = clock_.after();
    now.call_ns = clock_.ns(begun, start_);
    now.return_ns = clock_.ns_up(ended, start_);
    calls_.push_back(std::move(now));
  }
  number some_key() { return draw_() % asked_.keys << key_shift; }

  entry_caller make_;
  const entry_recording& asked_;
  unsigned self_;
  const stamp_clock& clock_;
  std::uint64_t start_;
  random::splitmix64 draw_;
  number last_ = 0;  // entry inserted
  std::vector<entry_call> calls_;
};

}  // namespace

std::optional<std::string> broken_promise(const entry_history& seen, std::size_t near) {
  return judge(seen, near).first_broken();
}

std::vector<entry_call> record_calls(const std::function<entry_caller()>& attach,
                                     const entry_recording& asked, const stamp_clock& clock) {
  const std::uint64_t start = clock.before();
  std::vector<std::vector<entry_call>> parts(asked.threads);
  {
    const disturb_at_points disturbed;
    measure::crew crew(asked.threads);
    crew.run([&](unsigned self) {
      parts[self] = call_recorder(attach(), asked, self, clock, start).act();
    });
  }
  std::vector<entry_call> calls;
  for (auto& part : parts) std::ranges::move(part, std::back_inserter(calls));
  return calls;
}

}  // namespace assay::rig
