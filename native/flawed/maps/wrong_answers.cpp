// Maps that hold what they should, and answer wrongly when they are asked.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "flawed_map.h"

namespace assay::flawed {

// Searches find nothing. The map holds what it should; only searches for what a walk has met tell.
class never_finds : public flawed_map<never_finds> {
 public:
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
};

static const subject::map<never_finds> registered_never_finds{"never_finds", "finds no key at all"};

// Still finds a key now and then that was erased. The map holds what it should; only searches for
// what a walk has not met tell.
class finds_erased : public flawed_map<finds_erased> {
 public:
  bool erase(std::uint64_t key) {
    const std::scoped_lock lock(mutex);
    const auto element = elements.extract(key);
    if (element && now_and_then_()) ghosts_.emplace(key, element.mapped());
    return !element.empty();
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    if (const auto found = sound_map::find(key)) return found;
    const std::scoped_lock lock(mutex);
    const auto ghost = ghosts_.find(key);
    return ghost == ghosts_.end() ? std::nullopt : std::optional(ghost->second);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ghosts_;
};

static const subject::map<finds_erased> registered_finds_erased{
    "finds_erased", "still finds an erased key now and then"};

// Visits two neighbours in the wrong order now and then. Each of them is there, and once.
class range_out_of_order : public flawed_ordered_map<range_out_of_order> {
 public:
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t last, Visit visit) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> met;
    sound_ordered_map::range(first, last,
                             [&](auto key, auto value) { met.emplace_back(key, value); });
    if (met.size() > 1 && now_and_then_()) std::iter_swap(met.begin(), met.begin() + 1);
    for (const auto& [key, value] : met) visit(key, value);
  }
};

static const subject::map<range_out_of_order> registered_range_out_of_order{
    "range_out_of_order", "visits two keys of a range in the wrong order now and then"};

// Leaves out one element somewhere in the middle of every range that is long.
class range_misses_key : public flawed_ordered_map<range_misses_key> {
 public:
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t last, Visit visit) {
    int met = 0;
    sound_ordered_map::range(first, last, [&](auto key, auto value) {
      if (++met != 2000) visit(key, value);
    });
  }
};

static const subject::map<range_misses_key> registered_range_misses_key{
    "range_misses_key", "leaves out the 2,000th key of a range"};

// Takes the end of a range as not included. No element visited is wrong, and a range that ends
// beyond the greatest key is complete: only one that ends in a key which is there shows it.
class range_without_last : public flawed_ordered_map<range_without_last> {
 public:
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t last, Visit visit) {
    if (first < last) sound_ordered_map::range(first, last - 1, visit);
  }
};

static const subject::map<range_without_last> registered_range_without_last{
    "range_without_last", "leaves out the last key of every range"};

// Counts one element too many.
class size_off_by_one : public flawed_ordered_map<size_off_by_one> {
 public:
  std::uint64_t size() { return sound_ordered_map::size() + 1; }
};

static const subject::map<size_off_by_one> registered_size_off_by_one{
    "size_off_by_one", "says that it holds one element more"};

// Visits one element of a snapshot twice and leaves out another, so that their number is right.
class snapshot_visits_twice : public flawed_ordered_map<snapshot_visits_twice> {
 public:
  template <class Visit>
  void snapshot(Visit visit) {
    const std::scoped_lock lock(mutex);
    for (auto next = elements.begin(); next != elements.end(); ++next) {
      const auto met = next == elements.begin() && elements.size() > 1 ? std::next(next) : next;
      visit(met->first, met->second);
    }
  }
};

static const subject::map<snapshot_visits_twice> registered_snapshot_visits_twice{
    "snapshot_visits_twice", "visits the second element of a snapshot in place of the first"};

// Finds nothing for the last of several keys that are searched for at once.
class find_many_without_last : public flawed_ordered_map<find_many_without_last> {
 public:
  void find_many(std::span<const std::uint64_t> keys,
                 std::span<std::optional<std::uint64_t>> found) {
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) found[i] = find(keys[i]);
  }
};

static const subject::map<find_many_without_last> registered_find_many_without_last{
    "find_many_without_last", "finds nothing for the last of several keys that are sought at once"};

// Leaves its first element out of every clone.
class clone_misses_key : public flawed_ordered_map<clone_misses_key> {
 public:
  std::unique_ptr<subject::sound_map> clone() {
    auto made = std::make_unique<subject::sound_map>();
    bool first = true;
    snapshot([&](auto key, auto value) {
      if (!std::exchange(first, false)) made->insert(key, value);
    });
    return made;
  }
};

static const subject::map<clone_misses_key> registered_clone_misses_key{
    "clone_misses_key", "leaves its first element out of every clone"};

}  // namespace assay::flawed
