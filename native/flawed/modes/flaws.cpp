#include "flawed/modes/flaws.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assay/host/placement.h"
#include "assay/workload/options.h"

namespace assay::flawed {
namespace {

// The first half, but one at least, of those that `request` would use, as neighbours.
std::vector<unsigned> half_of_processors(const trial::request& request) {
  const host::placement all(request.pinning, request.threads());
  std::vector<unsigned> processors = all.processors();
  std::ranges::sort(processors);
  processors.resize((processors.size() + 1) / 2);
  return processors;
}

}  // namespace

flaws parse_flaws(const input::json_node& node) {
  flaws chosen;
  const std::size_t length = node.length_of_list();
  if (length == 0) node.refuse("is empty; name a flaw, or ask assay-trial");
  for (std::size_t i = 0; i < length; ++i) {
    const std::string& name = node.at(i).text();
    const auto entry = std::ranges::find(flaw_entries, name, &flaw_entry::name);
    if (entry == flaw_entries.end()) {
      std::string all;
      for (const auto& known : flaw_entries) {
        all += (all.empty() ? "" : ", ") + std::string(known.name);
      }
      node.at(i).refuse("must be one of " + all + ", not " + input::shown(node.at(i).value()));
    }
    const auto one = static_cast<flaw>(entry - flaw_entries.begin());
    if (chosen.has(one)) node.at(i).refuse(input::shown(name) + " is named twice");
    chosen.add(one);
  }
  return chosen;
}

void require_effect(const flaws& chosen, const trial::request& request, bool holds_nothing) {
  const bool open = std::ranges::any_of(
      request.roles, [](const trial::role& role) { return role.arrivals.has_value(); });
  if (chosen.has(flaw::latency_from_start) && (!open || request.latency == 0)) {
    throw bad_request(
        "flaws: latency_from_start needs an open loop whose latency is taken; give arrivals and "
        "latency");
  }
  if (holds_nothing &&
      chosen.any_of({flaw::insert_only_prefill, flaw::single_threaded_prefill, flaw::no_prefill})) {
    throw bad_request("flaws: " + request.subject +
                      " holds nothing, so that there is no prefill to be changed");
  }
}

trial::request misled(trial::request request, const flaws& chosen) {
  if (chosen.has(flaw::power_of_two_range)) {
    request.key_range = std::bit_ceil(request.key_range);
    for (auto& role : request.roles) role.work.bounding = workload::bounding::modulo;
  }
  if (chosen.has(flaw::half_the_processors)) {
    request.pinning = {host::pinning::policy::list, half_of_processors(request)};
    request.perturbation.placement.reset();  // which of them is no longer arbitrary
  }
  return request;
}

}  // namespace assay::flawed
