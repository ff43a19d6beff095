// Bags for tests: a correct multimap and a correct queue, which the tests' own derive from to do
// one thing wrong.

#ifndef TESTS_TEST_BAGS_H_
#define TESTS_TEST_BAGS_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "assay/maps/plain_handle.h"

namespace assay::subject {

template <class K, class V>
class sound_bag {
 protected:
  using entry = std::pair<K, V>;

 public:
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : entries) visit(key, value);
  }

 protected:
  std::optional<entry> take(typename std::multiset<entry>::const_iterator which) {
    if (which == entries.end()) return std::nullopt;
    const entry taken = *which;
    entries.erase(which);
    return taken;
  }
  bool now_and_then() { return ++calls % 50 == 0; }  // under the lock

  std::mutex mutex;
  std::multiset<entry> entries;
  std::uint64_t calls = 0;
};

template <class K, class V>
class sound_multimap : public sound_bag<K, V> {
 public:
  void insert(K key, V value) {
    const std::scoped_lock lock(this->mutex);
    this->entries.emplace(key, value);
  }
  std::optional<std::pair<K, V>> erase_from(K key) {
    const std::scoped_lock lock(this->mutex);
    return this->take(this->entries.lower_bound({key, 0}));
  }
  std::optional<V> find(K key) {
    const std::scoped_lock lock(this->mutex);
    const auto found = this->entries.lower_bound({key, 0});
    return found == this->entries.end() || found->first != key ? std::nullopt
                                                               : std::optional(found->second);
  }
};

template <class K, class V>
class sound_queue : public sound_bag<K, V> {
 public:
  void push(K key, V value) {
    const std::scoped_lock lock(this->mutex);
    this->entries.emplace(key, value);
  }
  std::optional<std::pair<K, V>> try_pop() {
    const std::scoped_lock lock(this->mutex);
    return this->take(this->entries.begin());
  }
};

// `Base` with handles that call the functions of `Derived`.
template <class Derived, class Base>
class test_bag : public Base {  // NOLINT(bugprone-crtp-constructor-accessibility)
 public:
  auto attach() { return plain_handle(static_cast<Derived&>(*this)); }
};

template <class K, class V>
struct correct_multimap : test_bag<correct_multimap<K, V>, sound_multimap<K, V>> {};
template <class K, class V>
struct correct_queue : test_bag<correct_queue<K, V>, sound_queue<K, V>> {};

}  // namespace assay::subject

#endif  // TESTS_TEST_BAGS_H_
