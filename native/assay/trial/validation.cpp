#include "assay/trial/validation.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "assay/random/xoshiro256pp.h"
#include "assay/subject/subject.h"
#include "assay/workload/generator.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/streams.h"

namespace assay::trial {
namespace {

using subject::any_map;
using subject::pair_term;
using subject::structure;
using subject::tally;
using subject::value_rules;

constexpr std::uint64_t most_searches = 100'000;
constexpr int parts = 100;                         // of the map that ranges are asked for
constexpr std::uint64_t most_keys_of_part = 1000;  // between its ends

struct endless_walk {};

using entry = std::pair<std::uint64_t, std::uint64_t>;

std::string of_key(std::uint64_t key) { return "key " + std::to_string(key); }

// What a search for one key in `handle` finds. Of a multimap the loop has it: `batch` is a search.
std::optional<std::uint64_t> search(subject::any_handle& handle, structure structure,
                                    std::uint64_t key, workload::operation_batch& batch) {
  if (structure == structure::map) {
    return std::get<std::optional<std::uint64_t>>(
        handle.ask({.kind = workload::operation::find, .key = key}));
  }
  tally sums;
  batch.keys[0] = key;
  handle.perform(batch, 0, 1, {}, sums);
  if (sums.succeeded[2] == 0) return std::nullopt;
  return sums.folded;
}

// Whether any of these sorted entries has the key.
bool holds(std::span<const entry> entries, std::uint64_t key) {
  const auto at = std::ranges::lower_bound(entries, entry(key, 0));
  return at != entries.end() && at->first == key;
}

// The keys of a small key space, or as many random ones, without those that are in `held`.
std::vector<std::uint64_t> absent_keys(const workload::key_space& space,
                                       std::span<const entry> held, random::xoshiro256pp& engine) {
  const workload::uniform draw(space.range());
  std::vector<std::uint64_t> absent;
  for (std::uint64_t i = 0; i < std::min(space.range(), most_searches); ++i) {
    const auto key = space.key(space.range() <= most_searches ? i : draw(engine()).index);
    if (!holds(held, key)) absent.push_back(key);
  }
  return absent;
}

// Which of these keys, from the first of them to the last, `by` should meet.
std::vector<std::uint64_t> keys_met(workload::operation by, std::span<const std::uint64_t> held) {
  if (by == workload::operation::range) return {held.begin(), held.end()};
  subject::elements among;
  for (const std::uint64_t key : held) among.emplace(key, 0);
  const subject::answer right = subject::extra_facts_of(by).right(
      among, {.kind = by, .key = held.front(), .last = held.back()});
  std::vector<std::uint64_t> met;
  for (const auto& [key, value] : std::get<std::vector<subject::element>>(right))
    met.push_back(key);
  return met;
}

// How many visits by `by` from one key of `held`, which is sorted, to another meet other keys.
std::uint64_t wrong_parts_of(any_map& map, const value_rules& rules, workload::operation by,
                             std::span<const std::uint64_t> held, std::uint64_t most,
                             random::xoshiro256pp& engine) {
  std::uint64_t wrong = 0;
  for (int checked = 0; checked < parts; ++checked) {
    const std::uint64_t from = workload::uniform(held.size())(engine()).index;
    const std::uint64_t room = std::min<std::uint64_t>(held.size() - from, most_keys_of_part);
    const auto part = held.subspan(from, 1 + workload::uniform(room)(engine()).index);
    const auto keys = keys_met(by, part);
    const auto seen = observe(map, rules, by, part.front(), part.back(), most);
    const auto key_sum = std::accumulate(keys.begin(), keys.end(), std::uint64_t{0});
    wrong += !seen.ended || !seen.ascending || !std::cmp_equal(seen.found.size, keys.size()) ||
             seen.found.key_sum != key_sum;
  }
  return wrong;
}

// The term in the pair sum of what a walk or a visit met.
std::uint64_t term_of(structure structure, const value_rules& rules, std::uint64_t key,
                      std::uint64_t value) {
  const bool follows_from_key = structure == structure::map && rules.fits(key, value);
  return follows_from_key ? subject::key_term(rules.hash(key)) : pair_term(key, value);
}

// "value 12 of thread 1 after value 40 of thread 1 had been seen"
std::string described(const value_rules& rules, std::uint64_t value, std::uint64_t known) {
  if (value == known)
    return rules.name_of(value) + " once more after it had been replaced or erased";
  return rules.name_of(value) + " after " + rules.name_of(known) + " had been seen";
}

// What threads noted while operations ran.
void add_what_was_seen(validation& report, const tally& total, const value_rules& rules,
                       std::span<const worker> workers) {
  report.wrong_values.number = total.wrong_values;
  report.wrong_visits.number = total.wrong_visits;
  for (std::size_t thread = 0; thread < workers.size(); ++thread) {
    const auto& seen = workers[thread].seen;
    if (!seen) continue;
    const std::string who = "thread " + std::to_string(thread);
    if (const auto& wrong = seen->first_wrong(); wrong && report.wrong_values.first.empty()) {
      report.wrong_values.first =
          who + " found, under " + of_key(wrong->key) + ", " + rules.origin_of(wrong->value);
    }
    if (const auto& wrong = seen->first_wrong_visit(); wrong && report.wrong_visits.first.empty()) {
      report.wrong_visits.first = who + " met " + of_key(wrong->key);
    }
    if (const auto& stale = seen->first_stale(); stale && report.stale_values.first.empty()) {
      report.stale_values.first = who + " found, under " + of_key(stale->key) + ", " +
                                  described(rules, stale->value, stale->known);
    }
    report.stale_values.number += seen->stale();
  }
}

// A value that the walk met, against what is known of its key.
void check_held(validation& report, const entry& met, const value_rules& rules,
                std::span<const worker> workers) {
  const auto [key, value] = met;
  const auto thread = rules.thread_of(value);
  const bool was_drawn = !thread || *thread >= workers.size() || !workers[*thread].seen ||
                         value_rules::number_of(value) <= workers[*thread].seen->drawn();
  if (!rules.fits(key, value) || !was_drawn) {
    report.wrong_held.add([&, key = key, value = value] {
      return of_key(key) + " holds " +
             (was_drawn ? rules.origin_of(value)
                        : rules.name_of(value) + ", which that thread has not drawn");
    });
    return;
  }
  if (rules.watched()[value_rules::slot_of(rules.hash(key))] != key) return;
  for (const worker& worker : workers) {
    if (!worker.seen) continue;
    if (const auto known = worker.seen->known_after(key, value)) {
      report.stale_values.add([&, key = key, value = value, known = known] {
        return "the map holds, under " + of_key(key) + ", " + described(rules, value, *known);
      });
      return;
    }
  }
}

// The answers of inserts and erases say of each watched key whether it is held.
void check_presence(validation& report, std::span<const entry> held, const value_rules& rules,
                    std::span<const worker> workers) {
  for (std::size_t slot = 0; slot < rules.watched().size(); ++slot) {
    const std::uint64_t key = rules.watched()[slot];
    if (key == 0) continue;
    std::int64_t added = 0;
    std::int64_t removed = 0;
    for (const worker& worker : workers) {
      if (!worker.seen) return;
      added += worker.seen->memories()[slot].added;
      removed += worker.seen->memories()[slot].removed;
    }
    const bool is_held = holds(held, key);
    if (added - removed == (is_held ? 1 : 0)) continue;
    report.wrong_presence.add([&] {
      return of_key(key) + (is_held ? " is held" : " is not held") + ", though of its inserts " +
             std::to_string(added) + " and of its erases " + std::to_string(removed) + " succeeded";
    });
  }
}

// What the map's searches find once nothing else is under way, against the walk.
void check_searches(validation& report, any_map& map, std::span<const entry> entries,
                    const value_rules& rules, std::uint64_t seed, std::span<const worker> workers) {
  random::xoshiro256pp engine(random::derive_seed(seed, workload::search_stream));
  std::vector<entry> sample;
  std::ranges::sample(entries, std::back_inserter(sample),
                      static_cast<std::ptrdiff_t>(most_searches), engine);
  const auto batch = std::make_unique<workload::operation_batch>();
  batch->kinds.fill(workload::operation::find);
  const auto handle = map.attach();
  for (const auto& [key, value] : sample) {
    const auto found = search(*handle, report.structure, key, *batch);
    if (!found) {
      report.missed_searches.add([key = key] { return of_key(key); });
    } else if (!std::ranges::binary_search(entries, entry(key, *found))) {
      report.wrong_values.add([&, key = key, value = value] {
        return "a search at rest found, under " + of_key(key) + ", " + rules.origin_of(*found) +
               ", but the walk " + rules.name_of(value);
      });
    }
  }
  for (const std::uint64_t key : absent_keys(rules.space(), entries, engine)) {
    if (search(*handle, report.structure, key, *batch)) {
      report.phantom_searches.add([&] { return of_key(key); });
    }
  }
  for (std::size_t thread = 0; thread < workers.size(); ++thread) {
    for (const auto& [key, found] : workers[thread].at_rest) {
      if (found ? std::ranges::binary_search(entries, entry(key, *found)) : !holds(entries, key)) {
        continue;
      }
      report.differing_searches.add([&, key = key, found = found] {
        const auto at = std::ranges::lower_bound(entries, entry(key, 0));
        return "thread " + std::to_string(thread) + " found, under " + of_key(key) + ", " +
               (found ? rules.name_of(*found) : "nothing") + ", but the walk " +
               (holds(entries, key) ? rules.name_of(at->second) : "nothing");
      });
    }
  }
}

}  // namespace

observation observe(any_map& map, const value_rules& rules, workload::operation by,
                    std::uint64_t first, std::uint64_t last, std::uint64_t most) {
  struct endless_visit {};
  observation seen{.by = by};
  const subject::question asked{.kind = by, .key = first, .last = last};
  const auto handle = map.attach();
  if (by == workload::operation::size) {
    seen.found.size = static_cast<std::int64_t>(std::get<std::uint64_t>(handle->ask(asked)));
    return seen;
  }
  std::uint64_t last_key = 0;
  const auto note = [&](std::uint64_t key, std::uint64_t value) {
    if (std::cmp_equal(seen.found.size, most)) throw endless_visit();
    ++seen.found.size;
    seen.found.key_sum += key;
    seen.found.pair_sum += term_of(structure::map, rules, key, value);
    seen.pairs += pair_term(key, value);
    if (key <= last_key) seen.ascending = false;
    last_key = key;
  };
  const auto begin_again = [&] {
    seen = {.by = by};
    last_key = 0;
  };
  try {
    handle->visit(asked, note, begin_again);
  } catch (const endless_visit&) {
    seen.ended = false;
  }
  return seen;
}

validation validate(any_map& map, structure structure, const tally& total, std::uint64_t seed,
                    const value_rules& rules, std::span<const worker> workers) {
  using workload::operation;
  const bool is_map = structure == structure::map;
  const workload::key_space& space = rules.space();
  validation report{.structure = structure, .expected = total.implied_contents(), .found = {}};
  add_what_was_seen(report, total, rules, workers);
  // A map whose links form a circle would be walked forever. There can be no more elements than
  // keys (in a map) or inserts, and a few more tell one that holds keys twice from one that has no
  // end.
  const std::uint64_t inserts = total.succeeded[0];
  const auto most =
      static_cast<std::int64_t>((is_map ? std::min(space.range(), inserts) : inserts) + 1000);
  std::vector<entry> entries;
  try {
    map.for_each([&](std::uint64_t key, std::uint64_t value) {
      if (report.found.size == most) throw endless_walk();
      ++report.found.size;
      report.found.key_sum += key;
      report.found.pair_sum += term_of(structure, rules, key, value);
      report.pairs += pair_term(key, value);
      if (structure != structure::queue && !space.contains(key)) {
        report.foreign_keys.add([&] { return of_key(key); });
        if (is_map) return;
      } else if (is_map) {
        check_held(report, {key, value}, rules, workers);
      }
      entries.emplace_back(key, value);
    });
  } catch (const endless_walk&) {
    report.walk_ended = false;
    return report;
  }
  std::ranges::sort(entries);
  // In a map, another element with the same key; in other structures, the same entry.
  const auto is_repeated = [&](const entry& one, const entry& next) {
    return one.first == next.first && (is_map || one.second == next.second);
  };
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (!is_repeated(entries[i - 1], entries[i])) continue;
    report.duplicate_keys.add([&] { return of_key(entries[i].first); });
  }
  report.broken_invariant = map.broken_invariant().value_or("");
  if (report.broken_invariant.empty()) report.shape = map.shape();
  if (structure == structure::queue) return report;
  if (is_map) check_presence(report, entries, rules, workers);
  check_searches(report, map, entries, rules, seed, workers);

  std::vector<std::uint64_t> held;
  random::xoshiro256pp engine(random::derive_seed(seed, workload::search_stream));
  for (std::size_t kind = 3; kind < workload::operation_kinds; ++kind) {
    const auto by = static_cast<operation>(kind);
    if (total.attempted[kind] + total.unfinished[kind] == 0) continue;
    if (by > operation::iterate && !subject::extra_facts_of(by).visits) continue;
    const bool spans = workload::facts_of(by).spans;
    if (by == operation::range || !spans) {
      const auto all = space.from(1, space.range());
      report.observations.push_back(
          observe(map, rules, by, all.first, all.last, static_cast<std::uint64_t>(most)));
    }
    if (spans && held.empty()) {
      for (const auto& [key, value] : entries) {
        if (held.empty() || held.back() != key) held.push_back(key);
      }
    }
    if (spans && !held.empty()) {
      report.checked_parts += parts;
      report.wrong_parts +=
          wrong_parts_of(map, rules, by, held, static_cast<std::uint64_t>(most), engine);
    }
  }
  return report;
}

std::string validation::problem() const {
  const std::string whole = to_string(structure);
  const std::string elements = structure == subject::structure::map ? "keys" : "entries";
  std::string problems;
  const auto add = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "; ") + problem;
  };
  const auto add_all = [&](const std::string& before, const mistakes& of,
                           const std::string& after) {
    if (of.number == 0) return;
    add(before + std::to_string(of.number) + " " + after + ", expected 0" +
        (of.first.empty() ? "" : " (the first: " + of.first + ")"));
  };
  const std::string example =
      wrong_presence.number == 0 ? "" : " (for one, " + wrong_presence.first + ")";
  if (!walk_ended) {
    add("a walk through the " + whole + " did not end after " + std::to_string(found.size) +
        " elements, more than there can be");
  } else if (expected.size < 0) {
    add("the " + whole + " answered that it erased " + std::to_string(-expected.size) + " more " +
        elements + " than were inserted" + example);
  } else if (found.size != expected.size) {
    add("the " + whole + " holds " + std::to_string(found.size) + " " + elements + ", expected " +
        std::to_string(expected.size) + " from what its operations answered" + example);
  } else if (found.key_sum != expected.key_sum) {
    add("the " + whole + " holds " + std::to_string(found.size) + " " + elements +
        " as expected, but different ones: the sum of the keys is " +
        std::to_string(found.key_sum) + ", expected " + std::to_string(expected.key_sum) + example);
  } else if (found.pair_sum != expected.pair_sum) {
    add("the " + whole +
        "'s keys have the expected number and sum, but the pairs of key and value differ from what "
        "was stored: their sum is " +
        std::to_string(found.pair_sum) + ", expected " + std::to_string(expected.pair_sum) +
        example);
  } else if (wrong_presence.number > 0) {
    add(wrong_presence.first);
  }
  add_all("the " + whole + " holds ", wrong_held, "values that nobody drew for their keys");
  add_all("", stale_values, "values were found or held that had been seen to be gone");
  add_all("the " + whole + " holds ", foreign_keys, "keys that no operation ever drew");
  add_all("the walk met ", duplicate_keys,
          structure == subject::structure::map ? "elements whose key it had met before"
                                               : "entries that it had met before");
  add_all("", missed_searches, "searches for keys that the " + whole + " holds found nothing");
  add_all("", phantom_searches, "searches found keys that the " + whole + " does not hold");
  add_all("", differing_searches,
          "searches of the trial's threads at rest found something else than the walk");
  add_all("", wrong_values, "searches returned a value other than the key's");
  add_all("", wrong_visits,
          "elements that ranges or whole visits met were out of their order or bounds or had a "
          "value other than the key's");
  for (const auto& seen : observations) {
    const auto name = subject::to_string(seen.by);
    if (!seen.ended) {
      add("a " + name + " of the map at rest did not end after " + std::to_string(seen.found.size) +
          " elements, more than there can be");
    } else if (seen.found.size != found.size) {
      add("a " + name + " of the map at rest came to " + std::to_string(seen.found.size) +
          " elements, but the walk to " + std::to_string(found.size));
    } else if (seen.by != workload::operation::size &&
               (seen.found.key_sum != found.key_sum || seen.pairs != pairs)) {
      add("a " + name + " of the map at rest met as many elements as the walk, but different ones");
    } else if (seen.by == workload::operation::range && !seen.ascending) {
      add("a range over the map at rest met keys that were not in ascending order");
    }
  }
  if (wrong_parts != 0) {
    add(std::to_string(wrong_parts) + " of " + std::to_string(checked_parts) +
        " visits of parts of the map at rest met other keys than the walk, expected 0");
  }
  if (!broken_invariant.empty()) {
    add("an invariant of the " + whole + " is broken: " + broken_invariant);
  }
  return problems;
}

}  // namespace assay::trial
