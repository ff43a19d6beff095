// Maps that hold something else than their answers imply.

#include <iterator>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "flawed_map.h"

namespace assay::flawed {

// Says that a key was inserted, and loses it. The walk finds fewer keys than the answers imply.
class loses_inserts : public flawed_map<loses_inserts> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_() && !find(key)) return true;
    return sound_map::insert(key, value);
  }
};

static const subject::map<loses_inserts> registered_loses_inserts{"loses_inserts",
                                                                  "loses an insert now and then"};

// Says that a key was erased, and keeps it. The walk meets more keys than the answers imply.
class forgets_erases : public flawed_map<forgets_erases> {
 public:
  bool erase(std::uint64_t key) {
    if (now_and_then_() && find(key)) return true;
    return sound_map::erase(key);
  }
};

static const subject::map<forgets_erases> registered_forgets_erases{
    "forgets_erases", "forgets an erase now and then"};

// Links a key into the map twice, as two threads do that insert into a list without looking again.
// The walk meets more keys than the answers imply.
class inserts_twice : public flawed_map<inserts_twice> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const bool inserted = sound_map::insert(key, value);
    if (inserted && now_and_then_()) {
      const std::scoped_lock lock(mutex);
      twins_.emplace_back(key, value);
    }
    return inserted;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each(visit);
    for (const auto& [key, value] : twins_) visit(key, value);
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> twins_;
};

static const subject::map<inserts_twice> registered_inserts_twice{
    "inserts_twice", "inserts a key twice now and then"};

// Lets two inserts of one key both link an element and both say so, as two threads do that insert
// into a list at the same time. Size and sums are as the answers imply; the walk meets a key twice.
class both_insert : public flawed_map<both_insert> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (sound_map::insert(key, value)) return true;
    if (!now_and_then_()) return false;
    const std::scoped_lock lock(mutex);
    twins_.emplace(key, value);
    return true;
  }
  bool erase(std::uint64_t key) {
    {
      const std::scoped_lock lock(mutex);
      if (const auto twin = twins_.find(key); twin != twins_.end()) {
        twins_.erase(twin);
        return true;
      }
    }
    return sound_map::erase(key);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each(visit);
    for (const auto& [key, value] : twins_) visit(key, value);
  }

 private:
  std::multimap<std::uint64_t, std::uint64_t> twins_;
};

static const subject::map<both_insert> registered_both_insert{
    "both_insert", "lets two inserts of one key both succeed now and then"};

// Makes two errors that cancel each other out: one key becomes greater by one and another smaller
// by one. Number and sum of the keys are right; the sum over pairs of key and value is not.
class compensating_errors : public flawed_map<compensating_errors> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const bool inserted = sound_map::insert(key, value);
    if (inserted && now_and_then_()) move_two_keys();
    return inserted;
  }

 private:
  void move_two_keys() {
    const std::scoped_lock lock(mutex);
    for (auto low = elements.begin(), high = low; low != elements.end(); low = high) {
      high = std::next(low);
      if (high != elements.end() && high->first - low->first > 2) {
        elements.emplace(low->first + 1, low->second);
        elements.emplace(high->first - 1, high->second);
        elements.erase(low);
        elements.erase(high);
        return;
      }
    }
  }
};

static const subject::map<compensating_errors> registered_compensating_errors{
    "compensating_errors", "moves two keys now and then so that their sum stays right"};

// Stores two keys' values under each other. Number and sum of the keys are right; the sum over
// pairs of key and value is not, and searches return values that were never stored under their key.
class swaps_values : public flawed_map<swaps_values> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    const auto [inserted, is_new] = elements.emplace(key, value);
    if (is_new && now_and_then_() && inserted != elements.begin()) {
      std::swap(inserted->second, std::prev(inserted)->second);
    }
    return is_new;
  }
};

static const subject::map<swaps_values> registered_swaps_values{
    "swaps_values", "swaps the values of two keys now and then"};

// Cuts a string short by its last byte now and then. Keys, and the first 8 bytes, are right.
template <class K, class V>
class truncates_values
    : public subject::test_map<truncates_values<K, V>, subject::sound_ordered_map<K, V>> {
 public:
  bool insert(const K& key, V value) {
    if constexpr (std::is_same_v<V, std::string>) {
      if (!value.empty() && now_and_then_()) value.pop_back();
    }
    return subject::sound_ordered_map<K, V>::insert(key, value);
  }

 private:
  now_and_then now_and_then_;
};

static const subject::map_template<truncates_values> registered_truncates_values{
    "truncates_values", "cuts off the last byte of a string now and then"};

}  // namespace assay::flawed
