#include "assay/trial/validation.h"

namespace assay::trial {
namespace {

struct endless_walk {};

}  // namespace

validation validate(measured_map& map, const workload::key_space& space, const tally& total) {
  validation report{total.implied_contents(), {}, total.wrong_values, 0, true};
  // A map whose links form a circle would be walked forever. There can be no more elements than
  // keys, and a few more tell a map that holds keys twice from one that has no end.
  const auto most = static_cast<std::int64_t>(space.range() + 1000);
  try {
    map.for_each([&](std::uint64_t key, std::uint64_t value) {
      if (report.found.size == most) throw endless_walk();
      ++report.found.size;
      report.found.key_sum += key;
      report.found.pair_sum += pair_term(key, value);
      report.foreign_keys += !space.contains(key);
    });
  } catch (const endless_walk&) {
    report.walk_ended = false;
  }
  return report;
}

std::string validation::problem() const {
  std::string problems;
  const auto add = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "; ") + problem;
  };
  if (!walk_ended) {
    add("a walk through the map did not end after " + std::to_string(found.size) +
        " elements, more than there are keys");
  } else if (found.size != expected.size) {
    add("the map holds " + std::to_string(found.size) + " keys, expected " +
        std::to_string(expected.size) + " from what its operations answered");
  } else if (found.key_sum != expected.key_sum) {
    add("the map holds " + std::to_string(found.size) +
        " keys as expected, but other ones: their sum is " + std::to_string(found.key_sum) +
        ", expected " + std::to_string(expected.key_sum));
  } else if (found.pair_sum != expected.pair_sum) {
    add("the map's keys have the expected number and sum, but the pairs of key and value differ "
        "from what was "
        "stored: their sum is " +
        std::to_string(found.pair_sum) + ", expected " + std::to_string(expected.pair_sum));
  }
  if (foreign_keys != 0) {
    add("the map holds " + std::to_string(foreign_keys) +
        " keys that no operation ever drew, expected 0");
  }
  if (wrong_values != 0) {
    add(std::to_string(wrong_values) +
        " searches returned a value other than the key's, expected 0");
  }
  return problems;
}

}  // namespace assay::trial
