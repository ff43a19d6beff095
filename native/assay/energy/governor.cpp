#include "assay/energy/governor.h"

#include <algorithm>
#include <cstddef>

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
  return {.frequency = frequency,
          .seconds = seconds,
          .instructions_per_second = (is.instructions - was.instructions) / seconds,
          .cache_misses_per_second = (is.cache_misses - was.cache_misses) / seconds,
          .active_processors = (is.busy_seconds - was.busy_seconds) / seconds};
}

}  // namespace

void govern(platform& machine, const std::vector<governor*>& governors,
            const std::function<bool()>& over,
            const std::function<void(std::size_t, const decision&)>& told) {
  std::vector<governed> all(governors.size());
  const auto carry_out = [&](std::size_t domain, const decision& chosen) {
    if (told) told(domain, chosen);
    governed& one = all[domain];
    if (chosen.frequency != one.frequency) machine.set(domain, chosen.frequency);
    one.frequency = chosen.frequency;
    one.begun = machine.read();
    one.due = one.begun.seconds + chosen.seconds;
  };
  for (std::size_t domain = 0; domain < all.size(); ++domain) {
    carry_out(domain, governors[domain]->first());
  }
  while (!over()) {
    const auto next = std::ranges::min_element(all, {}, &governed::due);
    const auto domain = static_cast<std::size_t>(next - all.begin());
    const reading before = machine.read();
    if (before.seconds < next->due) machine.wait(next->due - before.seconds);
    const reading now = machine.read();
    // Something asked the process to end, before there was anything to see.
    if (now.seconds <= next->begun.seconds) continue;
    carry_out(domain, governors[domain]->next(between(next->begun, now, domain, next->frequency)));
  }
}

}  // namespace assay::energy
