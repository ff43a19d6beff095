// Maps for tests: a correct one, which the tests' own maps derive from to do one thing wrong, and
// the rig's to find nothing in.

#ifndef TESTS_TEST_MAPS_H_
#define TESTS_TEST_MAPS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "assay/maps/plain_handle.h"

namespace assay::subject {

// Searches and visits take the lock by a `Shared`.
template <class K, class V, class Lock = std::mutex, class Shared = std::scoped_lock<Lock>>
class sound_map_of {
 public:
  bool insert(const K& key, const V& value) {
    const std::scoped_lock lock(mutex);
    return elements.emplace(key, value).second;
  }
  bool erase(const K& key) {
    const std::scoped_lock lock(mutex);
    return elements.erase(key) != 0;
  }
  std::optional<V> find(const K& key) {
    const Shared lock(mutex);
    const auto found = elements.find(key);
    return found == elements.end() ? std::nullopt : std::optional(found->second);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : elements) visit(key, value);
  }

 protected:
  Lock mutex;
  std::map<K, V> elements;
};

class sound_map : public sound_map_of<std::uint64_t, std::uint64_t> {};

// One that can be looked at as a whole.
template <class K, class V, class Lock = std::mutex, class Shared = std::scoped_lock<Lock>>
class sound_ordered_map : public sound_map_of<K, V, Lock, Shared> {
 public:
  template <class Visit>
  void range(const K& first, const K& last, Visit visit) {
    const Shared lock(mutex);
    for (auto next = elements.lower_bound(first); next != elements.end() && !(last < next->first);
         ++next) {
      visit(next->first, next->second);
    }
  }
  std::uint64_t size() {
    const Shared lock(mutex);
    return elements.size();
  }
  template <class Visit>
  void snapshot(Visit visit) {
    const Shared lock(mutex);
    this->for_each(visit);
  }
  template <class Visit>
  void iterate(Visit visit) {
    snapshot(visit);
  }

 protected:
  using sound_map_of<K, V, Lock, Shared>::mutex;
  using sound_map_of<K, V, Lock, Shared>::elements;
};

// `Base` with an attach() whose handles call the functions of `Derived`.
// Its constructor is open to everyone because maps also derive from it through another class.
template <class Derived, class Base = sound_map>
class test_map : public Base {  // NOLINT(bugprone-crtp-constructor-accessibility)
 public:
  auto attach() { return plain_handle(static_cast<Derived&>(*this)); }
};

class correct_map : public test_map<correct_map> {};

template <class K, class V>
class correct_ordered_map : public test_map<correct_ordered_map<K, V>, sound_ordered_map<K, V>> {};

}  // namespace assay::subject

#endif  // TESTS_TEST_MAPS_H_
