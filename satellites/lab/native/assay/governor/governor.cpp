#include "assay/governor/governor.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace assay::energy {
namespace {

// A domain, and what is to happen to it next.
struct governed {
  kilohertz frequency = 0;
  reading begun;
  double due = 0;  // as reading::seconds
};

interval between(const reading& before, const reading& after, std::size_t domain,
                 kilohertz frequency) {
  const counts& was = before.domains[domain];
  const counts& is = after.domains[domain];
  const double seconds = after.seconds - before.seconds;
  const auto busy = [](double sum, const counts& one) { return sum + one.busy_seconds; };
  const double busy_before =
      std::accumulate(before.domains.begin(), before.domains.end(), 0.0, busy);
  const double busy_after = std::accumulate(after.domains.begin(), after.domains.end(), 0.0, busy);
  return {.frequency = frequency,
          .seconds = seconds,
          .instructions_per_second = (is.instructions - was.instructions) / seconds,
          .cache_misses_per_second = (is.cache_misses - was.cache_misses) / seconds,
          .active_processors = (is.busy_seconds - was.busy_seconds) / seconds,
          .active_in_machine = (busy_after - busy_before) / seconds};
}

}  // namespace

void govern(platform& machine, const std::vector<governor*>& governors,
            const std::function<bool()>& over,
            const std::function<void(std::size_t, const decision&)>& on_decision) {
  std::vector<governed> all(governors.size());
  const auto choose = [&](std::size_t domain, const decision& chosen) {
    if (on_decision) on_decision(domain, chosen);
    governed& one = all[domain];
    if (chosen.frequency != one.frequency) machine.set(domain, chosen.frequency);
    one.frequency = chosen.frequency;
    one.due = chosen.seconds;  // from when all of them are set
  };
  // A reading asks every processor: domains that are due together share it.
  const auto begin = [&](const std::vector<std::size_t>& domains) {
    const reading begun = machine.read();
    for (const std::size_t domain : domains) {
      all[domain].begun = begun;
      all[domain].due += begun.seconds;
    }
    return begun.seconds;
  };
  std::vector<std::size_t> chosen(all.size());
  for (std::size_t domain = 0; domain < all.size(); ++domain) {
    choose(domain, governors[domain]->first());
    chosen[domain] = domain;
  }
  double latest = begin(chosen);
  while (!over()) {
    const auto next = std::ranges::min_element(all, {}, &governed::due);
    if (latest < next->due) machine.wait(next->due - latest);
    const reading now = machine.read();
    latest = now.seconds;
    // Something asked the process to end, before there was anything to see.
    if (now.seconds <= next->begun.seconds) continue;
    const double due = std::max(now.seconds, next->due);
    chosen.clear();
    for (std::size_t domain = 0; domain < all.size(); ++domain) {
      const governed& one = all[domain];
      if (one.due > due || one.begun.seconds >= now.seconds) continue;
      choose(domain, governors[domain]->next(between(one.begun, now, domain, one.frequency)));
      chosen.push_back(domain);
    }
    latest = begin(chosen);
  }
}

}  // namespace assay::energy
