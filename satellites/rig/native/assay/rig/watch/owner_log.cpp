#include "assay/rig/watch/owner_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "assay/rig/history.h"

namespace assay::rig {
namespace {

// What a key had from an operation of its owner on.
struct version {
  std::uint32_t number;
  std::uint64_t value;
};

class judge {
 public:
  explicit judge(const judged_round& round) : round_(round), begin_(round.keys.size() + 1) {
    for (const thread_log& each : round.thread_logs) {
      for (const logged& done : each.log) {
        if (done.place != logged::nowhere) ++begin_[done.place + 1];
      }
    }
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    versions_.resize(begin_.back());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (const thread_log& each : round.thread_logs) {
      for (std::uint32_t i = 0; i < each.log.size(); ++i) {
        const logged& done = each.log[i];
        if (done.place != logged::nowhere) {
          versions_[next[done.place]++] = {.number = i + 1, .value = done.value};
        }
      }
    }
  }

  [[nodiscard]] std::string verdict() {
    for (unsigned thread = 0; thread < round_.thread_logs.size(); ++thread) {
      const thread_log& mine = round_.thread_logs[thread];
      for (const observation& one : mine.observations) {
        if (!has(one.place, one.value, one.during)) {
          return wrong(thread, one.asked, one.number, one.place, one.value, one.during);
        }
      }
      for (const visit_observation& one : mine.visit_observations) {
        auto problem = wrong(thread, mine, one);
        if (!problem.empty()) return problem;
      }
    }
    return wrong_sizes();
  }

 private:
  [[nodiscard]] std::span<const version> versions(std::size_t place) const {
    return std::span(versions_).subspan(begin_[place], begin_[place + 1] - begin_[place]);
  }

  // The first version of an operation beyond `number`.
  [[nodiscard]] auto beyond(std::span<const version> all, std::uint32_t number) const {
    return std::ranges::upper_bound(all, number, {}, &version::number);
  }

  // What a key had when this many operations of its owner had taken effect.
  [[nodiscard]] std::uint64_t value_after(std::size_t place, std::uint32_t number) const {
    const auto all = versions(place);
    const auto next = beyond(all, number);
    return next == all.begin() ? 0 : std::prev(next)->value;
  }

  // Whether a key had that value at some time.
  [[nodiscard]] bool has(std::size_t place, std::uint64_t value, const window& during) const {
    if (value_after(place, during.returned) == value) return true;
    const auto all = versions(place);
    for (auto next = beyond(all, during.returned);
         next != all.end() && next->number <= during.begun; ++next) {
      if (next->value == value) return true;
    }
    return false;
  }

  [[nodiscard]] static std::string told_call(unsigned thread, const subject::question& asked,
                                             std::uint32_t number) {
    return to_string(asked) + " by thread " + std::to_string(thread) + " (its operation " +
           std::to_string(number) + ")";
  }

  [[nodiscard]] static std::string told_window(unsigned owner, const window& during) {
    return std::to_string(during.returned) + " operations of thread " + std::to_string(owner) +
           " had returned before the call, and " + std::to_string(during.begun) +
           " had begun by its end";
  }

  // The versions of a key around a time, a line each.
  [[nodiscard]] std::string told_versions(std::size_t place, const window& during) const {
    constexpr std::ptrdiff_t around = 3;
    const auto all = versions(place);
    const auto at = beyond(all, during.returned) - all.begin();
    const auto end = beyond(all, during.begun) - all.begin();
    const auto first = std::max<std::ptrdiff_t>(at - around, 0);
    const auto last = std::min<std::ptrdiff_t>(std::min(end, at + 2 * around) + around,
                                               static_cast<std::ptrdiff_t>(all.size()));
    std::string text = "What thread " + std::to_string(round_.owners.owner(place)) +
                       ", which owns key " + std::to_string(round_.keys[place]) +
                       ", did to it around that time:\n";
    if (first == last) text += "  nothing\n";
    for (auto i = first; i < last; ++i) {
      const version& one = all[static_cast<std::size_t>(i)];
      text += "  operation " + std::to_string(one.number) +
              (one.value == 0 ? ": erased it" : ": held with " + std::to_string(one.value)) + '\n';
    }
    return text;
  }

  [[nodiscard]] std::string wrong(unsigned thread, const subject::question& asked,
                                  std::uint32_t number, std::size_t place, std::uint64_t value,
                                  const window& during) const {
    const unsigned owner = round_.owners.owner(place);
    return told_call(thread, asked, number) + " met " + told_value(value) + " under key " +
           std::to_string(round_.keys[place]) +
           ", which was so at no moment of the call: " + told_window(owner, during) + ".\n" +
           told_versions(place, during);
  }

  [[nodiscard]] std::string wrong(unsigned thread, const thread_log& mine,
                                  const visit_observation& one) const {
    for (std::uint32_t i = 0; i < one.count; ++i) {
      const std::uint32_t place = one.first + i;
      const unsigned owner = round_.owners.owner(place);
      if (owner == thread) continue;
      const std::uint64_t value = mine.values[one.values + i];
      if (!has(place, value, one.during.at(owner))) {
        return wrong(thread, one.asked, one.number, place, value, one.during.at(owner));
      }
    }
    if (!one.atomic) return "";
    for (unsigned owner = 0; owner < round_.owners.threads; ++owner) {
      if (owner != thread && !of_one_moment(mine, one, owner)) {
        return torn(thread, mine, one, owner);
      }
    }
    return "";
  }

  // Whether all that was seen of one thread's keys was so at the same time. Goes through what the
  // thread did meanwhile, and counts the keys that differ.
  [[nodiscard]] bool of_one_moment(const thread_log& mine, const visit_observation& one,
                                   unsigned owner) const {
    const window during = one.during.at(owner);
    const auto seen = [&](std::uint32_t place) {
      return mine.values[one.values + (place - one.first)];
    };
    std::size_t differ = 0;
    for (std::uint32_t place = one.first; place < one.first + one.count; ++place) {
      if (round_.owners.owner(place) == owner) {
        differ += value_after(place, during.returned) != seen(place);
      }
    }
    const auto& log = round_.thread_logs[owner].log;
    for (std::uint32_t i = during.returned; differ != 0 && i < during.begun && i < log.size();
         ++i) {
      const logged& done = log[i];
      if (done.place < one.first || done.place - one.first >= one.count) continue;
      const bool differed = value_after(done.place, i) != seen(done.place);
      differ += done.value != seen(done.place);
      differ -= differed;
    }
    return differ == 0;
  }

  // Two keys that were so, but not at the same time.
  [[nodiscard]] std::string torn(unsigned thread, const thread_log& mine,
                                 const visit_observation& one, unsigned owner) const {
    const window during = one.during.at(owner);
    struct bound {
      std::uint32_t place = 0;
      std::uint32_t number = 0;
    };
    bound from{};                                  // so after this operation and not before
    bound upto{.place = 0, .number = UINT32_MAX};  // so before this one and not from it on
    for (std::uint32_t i = 0; i < one.count; ++i) {
      const std::uint32_t place = one.first + i;
      if (round_.owners.owner(place) != owner) continue;
      const std::uint64_t value = mine.values[one.values + i];
      bool so = value_after(place, during.returned) == value;
      bool ever = so;
      std::uint32_t first = 0;
      std::uint32_t end = UINT32_MAX;
      const auto all = versions(place);
      for (auto next = beyond(all, during.returned);
           next != all.end() && next->number <= during.begun; ++next) {
        if (so && next->value != value) end = next->number;
        so = next->value == value;
        if (so) end = UINT32_MAX;
        if (so && !std::exchange(ever, true)) first = next->number;
      }
      if (first > from.number) from = {.place = place, .number = first};
      if (end < upto.number) upto = {.place = place, .number = end};
    }
    std::string text =
        told_call(thread, one.asked, one.number) + " answered what the map held at no one moment: ";
    if (upto.number <= from.number) {
      const auto value = [&](const bound& of) {
        return told_value(mine.values[one.values + (of.place - one.first)]);
      };
      text += "it met " + value(from) + " under key " + std::to_string(round_.keys[from.place]) +
              ", which is so from " + name_of_operation(owner, from.number) + " on, and " +
              value(upto) + " under key " + std::to_string(round_.keys[upto.place]) +
              ", which is so only before " + name_of_operation(owner, upto.number) + "; ";
    } else {
      text += "no moment explains all that it met of thread " + std::to_string(owner) + "'s keys; ";
    }
    return text + told_window(owner, during) + ".\n";
  }

  // Sizes. How many keys a thread held after each of its operations.
  [[nodiscard]] std::string wrong_sizes() const {
    std::vector<std::vector<std::uint32_t>> held(round_.thread_logs.size());
    const bool any = std::ranges::any_of(
        round_.thread_logs, [](const thread_log& each) { return !each.size_observations.empty(); });
    if (!any) return "";
    std::vector<bool> is_held(round_.keys.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
      std::uint32_t count = 0;
      held[i].push_back(count);
      for (const logged& done : round_.thread_logs[i].log) {
        if (done.place != logged::nowhere) {
          count += done.value != 0;
          count -= is_held[done.place];
          is_held[done.place] = done.value != 0;
        }
        held[i].push_back(count);
      }
    }
    for (unsigned thread = 0; thread < held.size(); ++thread) {
      for (const size_observation& one : round_.thread_logs[thread].size_observations) {
        std::uint64_t least = 0;
        std::uint64_t most = 0;
        for (unsigned owner = 0; owner < held.size(); ++owner) {
          const window during = one.during.at(owner);
          const auto first = held[owner].begin() + during.returned;
          const auto last = held[owner].begin() +
                            std::min<std::ptrdiff_t>(
                                during.begun, static_cast<std::ptrdiff_t>(held[owner].size()) - 1);
          const auto [low, high] = std::minmax_element(first, last + 1);
          least += *low;
          most += *high;
        }
        if (one.answered >= least && one.answered <= most) continue;
        return told_call(thread, one.asked, one.number) + " answered " +
               std::to_string(one.answered) + ", but at every moment of the call the map held " +
               std::to_string(least) + (least == most ? "" : " to " + std::to_string(most)) +
               " elements.\n";
      }
    }
    return "";
  }

  judged_round round_;
  std::vector<std::size_t> begin_;  // of each place's versions
  std::vector<version> versions_;
};

}  // namespace

std::string unexplained(const judged_round& round) { return judge(round).verdict(); }

std::string name_of_operation(std::uint64_t thread, std::uint64_t number) {
  return "thread " + std::to_string(thread) + "'s operation " + std::to_string(number);
}

std::string told_value(std::uint64_t value) {
  if (value == 0) return "nothing";
  const origin from = origin_of(value);
  if (from.thread >= most_owners) return std::to_string(value) + ", which nobody stored,";
  return std::to_string(value) + " (of " + name_of_operation(from.thread, from.number) + ")";
}

}  // namespace assay::rig
