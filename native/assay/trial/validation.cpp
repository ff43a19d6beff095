#include "assay/trial/validation.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "assay/random/xoshiro256pp.h"
#include "assay/trial/streams.h"
#include "assay/workload/generator.h"
#include "assay/workload/operation_batch.h"

namespace assay::trial {
namespace {

constexpr std::uint64_t most_searches = 100'000;

struct endless_walk {};

// What searches for these keys come to.
tally search(attached_handle& handle, std::span<const std::uint64_t> keys, std::uint64_t salt) {
  using workload::operation_batch;
  const auto batch = std::make_unique<operation_batch>();
  batch->kinds.fill(workload::operation::find);
  tally sums;
  while (!keys.empty()) {
    batch->size = std::min(keys.size(), operation_batch::capacity);
    std::ranges::copy(keys.first(batch->size), batch->keys.begin());
    handle.perform(*batch, 0, batch->size, {.salt = salt}, sums);
    keys = keys.subspan(batch->size);
  }
  return sums;
}

// The keys of a small key space, or as many random ones, without those that are in `held`.
std::vector<std::uint64_t> absent_keys(const workload::key_space& space,
                                       std::span<const std::uint64_t> held,
                                       random::xoshiro256pp& engine) {
  const workload::uniform draw(space.range());
  std::vector<std::uint64_t> absent;
  for (std::uint64_t i = 0; i < std::min(space.range(), most_searches); ++i) {
    const auto key = space.key(space.range() <= most_searches ? i : draw(engine()).index);
    if (!std::ranges::binary_search(held, key)) absent.push_back(key);
  }
  return absent;
}

}  // namespace

validation validate(measured_map& map, const workload::key_space& space, const tally& total,
                    std::uint64_t seed, std::uint64_t salt) {
  validation report{.expected = total.implied_contents(), .found = {}};
  report.wrong_values = total.wrong_values;
  // A map whose links form a circle would be walked forever. There can be no more elements than
  // keys or inserts, and a few more tell a map that holds keys twice from one that has no end.
  const auto most = static_cast<std::int64_t>(std::min(space.range(), total.succeeded[0]) + 1000);
  std::vector<std::uint64_t> held;
  try {
    map.for_each([&](std::uint64_t key, std::uint64_t value) {
      if (report.found.size == most) throw endless_walk();
      ++report.found.size;
      report.found.key_sum += key;
      report.found.pair_sum += pair_term(key, value);
      if (space.contains(key)) {
        held.push_back(key);
      } else {
        ++report.foreign_keys;
      }
    });
  } catch (const endless_walk&) {
    report.walk_ended = false;
    return report;
  }
  std::ranges::sort(held);
  const auto repeated = std::ranges::unique(held);
  report.duplicate_keys = repeated.size();
  held.erase(repeated.begin(), repeated.end());

  // A map may hold what it should and not find it, or find what it no longer holds.
  random::xoshiro256pp engine(random::derive_seed(seed, search_stream));
  std::vector<std::uint64_t> sample;
  std::ranges::sample(held, std::back_inserter(sample), static_cast<std::ptrdiff_t>(most_searches),
                      engine);
  const auto handle = map.attach();
  const tally present = search(*handle, sample, salt);
  const tally absent = search(*handle, absent_keys(space, held, engine), salt);
  report.missed_searches = present.attempted[2] - present.succeeded[2];
  report.phantom_searches = absent.succeeded[2];
  report.wrong_values += present.wrong_values;
  return report;
}

std::string validation::problem() const {
  std::string problems;
  const auto add = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "; ") + problem;
  };
  if (!walk_ended) {
    add("a walk through the map did not end after " + std::to_string(found.size) +
        " elements, more than there can be");
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
  if (duplicate_keys != 0) {
    add("the walk met " + std::to_string(duplicate_keys) +
        " elements whose key it had met before, expected 0");
  }
  if (missed_searches != 0) {
    add(std::to_string(missed_searches) +
        " searches for keys that the map holds found nothing, expected 0");
  }
  if (phantom_searches != 0) {
    add(std::to_string(phantom_searches) +
        " searches found keys that the map does not hold, expected 0");
  }
  if (wrong_values != 0) {
    add(std::to_string(wrong_values) +
        " searches returned a value other than the key's, expected 0");
  }
  return problems;
}

}  // namespace assay::trial
