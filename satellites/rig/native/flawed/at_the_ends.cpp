// Maps that are wrong for one key or one value only, at an end of its type, and but for the last
// only if threads meet: one thread's questions find nothing.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "assay/base/point.h"
#include "flawed_map.h"

namespace assay::flawed {

using subject::sound_ordered_map;

// Looks whether the greatest key is there, and then inserts it without looking again.
class unchecked_greatest : public flawed_map<unchecked_greatest> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (key != UINT64_MAX) return sound_map::insert(key, value);
    const bool held = find(key).has_value();
    ASSAY_POINT("unchecked_greatest_insert_after_look");
    if (!held) sound_map::insert(key, value);
    return !held;
  }
};

static const subject::map<unchecked_greatest> registered_unchecked_greatest{
    "unchecked_greatest", "lets two inserts of the greatest key both succeed"};

// While a thread inserts, others do not find an element that `Derived` hides.
template <class Derived, class K, class V>
class hides_while_it_inserts  // NOLINT(bugprone-crtp-constructor-accessibility)
    : public subject::test_map<Derived, sound_ordered_map<K, V>> {
 public:
  bool insert(const K& key, const V& value) {
    ++inserting_;
    const bool inserted = sound_ordered_map<K, V>::insert(key, value);
    ASSAY_POINT("hides_while_it_inserts_before_end");
    --inserting_;
    return inserted;
  }
  std::optional<V> find(const K& key) {
    const auto found = sound_ordered_map<K, V>::find(key);
    return found && Derived::hides(key, *found) && inserting_ > 0 ? std::nullopt : found;
  }

 private:
  std::atomic<int> inserting_{0};
};

class hides_least : public hides_while_it_inserts<hides_least, std::uint64_t, std::uint64_t> {
 public:
  static bool hides(std::uint64_t key, std::uint64_t /*value*/) { return key == 0; }
};
static const subject::map<hides_least> registered_hides_least{"hides_least",
                                                              "hides key 0 while a thread inserts"};

class hides_greatest_value
    : public hides_while_it_inserts<hides_greatest_value, std::uint64_t, std::uint64_t> {
 public:
  static bool hides(std::uint64_t /*key*/, std::uint64_t value) { return value == UINT64_MAX; }
};
static const subject::map<hides_greatest_value> registered_hides_greatest_value{
    "hides_greatest_value", "hides the greatest value while a thread inserts"};

template <class K, class V>
class hides_empty_string : public hides_while_it_inserts<hides_empty_string<K, V>, K, V> {
 public:
  static bool hides(const K& key, const V& /*value*/) {
    if constexpr (std::is_same_v<K, std::string>) return key.empty();
    return false;
  }
};
static const subject::map_template<hides_empty_string> registered_hides_empty_string{
    "hides_empty_string", "hides an empty string while a thread inserts"};

// Loses an element of value 0 if another thread has the lock.
class loses_value_zero : public flawed_map<loses_value_zero> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    std::unique_lock lock(mutex, std::try_to_lock);
    const bool alone = lock.owns_lock();
    if (!alone) lock.lock();
    const bool is_new = !elements.contains(key);
    ASSAY_POINT("loses_value_zero_insert_locked");
    if (is_new && (alone || value != 0)) elements.emplace(key, value);
    return is_new;
  }
};
static const subject::map<loses_value_zero> registered_loses_value_zero{
    "loses_value_zero", "loses a value of 0 when threads meet"};

// Keeps what it should free of the greatest key, also when there is one thread.
class keeps_greatest : public flawed_map<keeps_greatest> {
 public:
  bool erase(std::uint64_t key) {
    const bool erased = sound_map::erase(key);
    if (erased && key == UINT64_MAX) {
      const std::scoped_lock lock(mutex);
      kept().push_back(std::make_unique<std::uint64_t>(key));
    }
    return erased;
  }

 private:
  static std::vector<std::unique_ptr<std::uint64_t>>& kept() {
    static std::vector<std::unique_ptr<std::uint64_t>> all;
    return all;
  }
};
static const subject::map<keeps_greatest> registered_keeps_greatest{
    "keeps_greatest", "keeps what it should free of the greatest key"};

}  // namespace assay::flawed
