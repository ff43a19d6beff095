#include "assay/trial/validation.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "assay/random/xoshiro256pp.h"
#include "assay/trial/streams.h"
#include "assay/trial/subject.h"
#include "assay/workload/generator.h"
#include "assay/workload/operation_batch.h"

namespace assay::trial {
namespace {

constexpr std::uint64_t most_searches = 100'000;
constexpr int parts = 100;                         // of the map that ranges are asked for
constexpr std::uint64_t most_keys_of_part = 1000;  // between its ends

struct endless_walk {};

// What searches for these keys come to. The kinds in `batch` are all `find`.
tally search(attached_handle& handle, workload::operation_batch& batch,
             std::span<const std::uint64_t> keys, std::uint64_t salt) {
  tally sums;
  while (!keys.empty()) {
    batch.size = std::min(keys.size(), workload::operation_batch::capacity);
    std::ranges::copy(keys.first(batch.size), batch.keys.begin());
    handle.perform(batch, 0, batch.size, {.salt = salt}, sums);
    keys = keys.subspan(batch.size);
  }
  return sums;
}

using entry = std::pair<std::uint64_t, std::uint64_t>;

// The same of a multimap that holds `held`, which is sorted. A value of another key is a wrong one.
tally search_one_by_one(attached_handle& handle, workload::operation_batch& batch,
                        std::span<const std::uint64_t> keys, std::span<const entry> held) {
  tally sums;
  for (const std::uint64_t& key : keys) {
    tally one = search(handle, batch, {&key, 1}, 0);
    if (one.succeeded[2] > 0 && !std::ranges::binary_search(held, entry(key, one.folded))) {
      ++one.wrong_values;
    }
    sums += one;
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

// How many ranges from one key of `held`, which is sorted, to another meet other keys.
std::uint64_t wrong_parts_of(measured_map& map, std::span<const std::uint64_t> held,
                             std::uint64_t most, random::xoshiro256pp& engine) {
  if (held.empty()) return 0;
  std::uint64_t wrong = 0;
  for (int part = 0; part < parts; ++part) {
    const std::uint64_t from = workload::uniform(held.size())(engine()).index;
    const std::uint64_t room = std::min<std::uint64_t>(held.size() - from, most_keys_of_part);
    const auto keys = held.subspan(from, 1 + workload::uniform(room)(engine()).index);
    const auto seen = map.observe(workload::operation::range, keys.front(), keys.back(), most);
    const auto key_sum = std::accumulate(keys.begin(), keys.end(), std::uint64_t{0});
    wrong += !seen.ended || !seen.ascending || !std::cmp_equal(seen.found.size, keys.size()) ||
             seen.found.key_sum != key_sum;
  }
  return wrong;
}

}  // namespace

validation validate(measured_map& map, structure structure, const workload::key_space& space,
                    const tally& total, std::uint64_t seed, std::uint64_t salt) {
  using workload::operation;
  const bool is_map = structure == structure::map;
  validation report{.structure = structure, .expected = total.implied_contents(), .found = {}};
  report.wrong_values = total.wrong_values;
  report.wrong_visits = total.wrong_visits;
  // A map whose links form a circle would be walked forever. There can be no more elements than
  // keys (in a map) or inserts, and a few more tell one that holds keys twice from one that has no
  // end.
  const std::uint64_t inserts = total.succeeded[0];
  const auto most =
      static_cast<std::int64_t>((is_map ? std::min(space.range(), inserts) : inserts) + 1000);
  std::vector<std::uint64_t> held;
  std::vector<entry> entries;  // not of a map, whose values follow from their keys
  try {
    map.for_each([&](std::uint64_t key, std::uint64_t value) {
      if (report.found.size == most) throw endless_walk();
      ++report.found.size;
      report.found.key_sum += key;
      report.found.pair_sum += pair_term(key, value);
      if (!is_map) entries.emplace_back(key, value);
      if (structure == structure::queue || space.contains(key)) {
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
  if (!is_map) {
    std::ranges::sort(entries);
    report.duplicate_keys = std::ranges::unique(entries).size();
    report.broken_invariant = map.broken_invariant().value_or("");
  }
  if (structure == structure::queue) return report;

  // A map may hold what it should and not find it, or find what it no longer holds.
  random::xoshiro256pp engine(random::derive_seed(seed, search_stream));
  std::vector<std::uint64_t> sample;
  std::ranges::sample(held, std::back_inserter(sample), static_cast<std::ptrdiff_t>(most_searches),
                      engine);
  const auto batch = std::make_unique<workload::operation_batch>();
  batch->kinds.fill(operation::find);
  const auto handle = map.attach();
  const tally present = is_map ? search(*handle, *batch, sample, salt)
                               : search_one_by_one(*handle, *batch, sample, entries);
  const tally absent = search(*handle, *batch, absent_keys(space, held, engine), salt);
  report.missed_searches = present.attempted[2] - present.succeeded[2];
  report.phantom_searches = absent.succeeded[2];
  report.wrong_values += present.wrong_values;

  for (const auto by :
       {operation::range, operation::size, operation::snapshot, operation::iterate}) {
    const auto kind = static_cast<std::size_t>(by);
    if (total.attempted[kind] + total.unfinished[kind] == 0) continue;
    const auto all = space.from(1, space.range());
    report.observations.push_back(
        map.observe(by, all.first, all.last, static_cast<std::uint64_t>(most)));
    if (by == operation::range) {
      report.checked_parts = held.empty() ? 0 : parts;
      report.wrong_parts = wrong_parts_of(map, held, static_cast<std::uint64_t>(most), engine);
    }
  }
  return report;
}

std::string validation::problem() const {
  const std::string whole = to_string(structure);
  const std::string elements = structure == structure::map ? "keys" : "entries";
  std::string problems;
  const auto add = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "; ") + problem;
  };
  if (!walk_ended) {
    add("a walk through the " + whole + " did not end after " + std::to_string(found.size) +
        " elements, more than there can be");
  } else if (found.size != expected.size) {
    add("the " + whole + " holds " + std::to_string(found.size) + " " + elements + ", expected " +
        std::to_string(expected.size) + " from what its operations answered");
  } else if (found.key_sum != expected.key_sum) {
    add("the " + whole + " holds " + std::to_string(found.size) + " " + elements +
        " as expected, but different ones: the sum of the keys is " +
        std::to_string(found.key_sum) + ", expected " + std::to_string(expected.key_sum));
  } else if (found.pair_sum != expected.pair_sum) {
    add("the " + whole +
        "'s keys have the expected number and sum, but the pairs of key and value differ "
        "from what was "
        "stored: their sum is " +
        std::to_string(found.pair_sum) + ", expected " + std::to_string(expected.pair_sum));
  }
  if (foreign_keys != 0) {
    add("the " + whole + " holds " + std::to_string(foreign_keys) +
        " keys that no operation ever drew, expected 0");
  }
  if (duplicate_keys != 0) {
    add("the walk met " + std::to_string(duplicate_keys) +
        (structure == structure::map ? " elements whose key" : " entries that") +
        " it had met before, expected 0");
  }
  if (missed_searches != 0) {
    add(std::to_string(missed_searches) + " searches for keys that the " + whole +
        " holds found nothing, expected 0");
  }
  if (phantom_searches != 0) {
    add(std::to_string(phantom_searches) + " searches found keys that the " + whole +
        " does not hold, expected 0");
  }
  if (wrong_values != 0) {
    add(std::to_string(wrong_values) +
        " searches returned a value other than the key's, expected 0");
  }
  if (wrong_visits != 0) {
    add(std::to_string(wrong_visits) +
        " elements that ranges or whole visits met were out of their order or bounds or had a "
        "value "
        "other than the key's, expected 0");
  }
  for (const auto& seen : observations) {
    const auto name = to_string(seen.by);
    if (!seen.ended) {
      add("a " + name + " of the map at rest did not end after " + std::to_string(seen.found.size) +
          " elements, more than there can be");
    } else if (seen.found.size != found.size) {
      add("a " + name + " of the map at rest came to " + std::to_string(seen.found.size) +
          " elements, but the walk to " + std::to_string(found.size));
    } else if (seen.by != workload::operation::size && seen.found != found) {
      add("a " + name + " of the map at rest met as many elements as the walk, but different ones");
    } else if (seen.by == workload::operation::range && !seen.ascending) {
      add("a range over the map at rest met keys that were not in ascending order");
    }
  }
  if (wrong_parts != 0) {
    add(std::to_string(wrong_parts) + " of " + std::to_string(checked_parts) +
        " ranges over parts of the map at rest met other keys than the walk, expected 0");
  }
  if (!broken_invariant.empty()) add(broken_invariant);
  return problems;
}

}  // namespace assay::trial
