// A sorted array behind one lock: the same map three times, and only the lock differs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/maps/concept.h"
#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"
#include "assay/sync/optimistic_section.h"

namespace {

// Sections of a lock that excludes, with the interface of sync::optimistic_section.
template <class Lock>
class excluding_section {
  static constexpr bool shareable = requires(Lock& lock) { lock.lock_shared(); };
  using read_guard = std::conditional_t<shareable, std::shared_lock<Lock>, std::unique_lock<Lock>>;

 public:
  struct change {
    void begin() noexcept {}
  };

  template <class F>
  [[gnu::always_inline]] auto read(F&& f) {
    const read_guard held(lock_);
    return f();
  }
  template <class F>
  auto write(F&& f) {
    const std::scoped_lock held(lock_);
    change none;
    return f(none);
  }

 private:
  Lock lock_;
};

// Keys in ascending order, and their values, in two arrays with room at both ends. A search takes
// log n steps. An insert and an erase move what is between them and the nearer end, a quarter of the
// elements on average where there is room, so that it is a map for a few thousand.
//
// All operations are atomic. They are blocking, but with an optimistic section searches and visits
// wait for nobody unless they were disturbed eight times. A visit copies what it meets first.
template <class K, class V, class Section>
class flat_map {
  using keys = std::vector<assay::sync::section_word<K>>;
  using values = std::vector<assay::sync::section_word<V>>;

  struct arrays {
    explicit arrays(std::size_t size) : capacity(size), key(size), value(size) {}
    std::size_t capacity;
    keys key;
    values value;
  };

  // What there is at one moment or, for a reader, may never have been: it is within the arrays in any
  // case. Places count from `first`.
  struct view {
    arrays* in;
    std::size_t first;
    std::size_t size;

    [[nodiscard]] K key_at(std::size_t place) const { return in->key[first + place].read(); }
    [[nodiscard]] V value_at(std::size_t place) const { return in->value[first + place].read(); }
    void put(std::size_t place, K key, V value) const {
      in->key[first + place].write(key);
      in->value[first + place].write(value);
    }

    // The first key that is not less, or the size. Takes the same steps whatever it meets.
    [[nodiscard]] std::size_t lower_bound(K key) const {
      std::size_t place = 0;
      for (std::size_t left = size; left > 0;) {
        const std::size_t half = left / 2;
        const bool right = key_at(place + half) < key;
        place = right ? place + half + 1 : place;
        left = right ? left - half - 1 : half;
      }
      return place;
    }
    [[nodiscard]] bool holds(std::size_t place, K key) const {
      return place < size && key_at(place) == key;
    }
  };

 public:
  static constexpr bool ordered = true;

  bool insert(K key, V value) {
    return section_.write([&](auto& change) {
      const view now = seen();
      const std::size_t place = now.lower_bound(key);
      if (now.holds(place, key)) return false;
      const bool room_before = now.first > 0;
      const bool room_after = now.first + now.size < now.in->capacity;
      const bool grows = !room_before && !room_after;
      const bool downwards = !grows && room_before && (place < now.size / 2 || !room_after);
      const view next{.in = grows ? new_arrays(2 * now.size) : now.in,
                      .first = grows ? now.size / 2 : now.first - (downwards ? 1 : 0),
                      .size = now.size + 1};
      change.begin();
      if (grows || downwards) copy(now, 0, next, 0, place);
      if (!downwards) copy_backwards(now, place, next, place + 1, now.size - place);
      next.put(place, key, value);
      become(next);
      return true;
    });
  }

  bool erase(K key) {
    return section_.write([&](auto& change) {
      const view now = seen();
      const std::size_t place = now.lower_bound(key);
      if (!now.holds(place, key)) return false;
      const bool upwards = place < now.size / 2;
      const view next{.in = now.in, .first = now.first + (upwards ? 1 : 0), .size = now.size - 1};
      change.begin();
      if (upwards) {
        copy_backwards(now, 0, next, 0, place);
      } else {
        copy(now, place + 1, next, place, now.size - place - 1);
      }
      become(next);
      return true;
    });
  }

  [[gnu::always_inline]] std::optional<V> find(K key) {
    const auto [found, value] = section_.read([&] {
      const view now = seen();
      const std::size_t place = now.lower_bound(key);
      const bool holds = now.holds(place, key);
      return std::pair(holds, holds ? now.value_at(place) : V());
    });
    return found ? std::optional(value) : std::nullopt;
  }

  std::uint64_t size() {
    return section_.read([&] { return size_.read(); });
  }

  template <class Visit>
  void range(K first, K last, Visit visit) {
    visit_from([&](const view& now) { return now.lower_bound(first); },
               [&](K key) { return !(last < key); }, visit);
  }
  template <class Visit>
  void snapshot(Visit visit) {
    visit_from([](const view&) { return std::size_t{0}; }, [](K) { return true; }, visit);
  }
  template <class Visit>
  void iterate(Visit visit) {
    snapshot(visit);
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    snapshot([&](K key, V value) { visit(key, value); });
  }

 private:
  static constexpr std::size_t at_first = 16;

  [[nodiscard]] view seen() const {
    arrays* const in = now_.read();
    const std::size_t first = std::min(first_.read(), in->capacity);
    return {in, first, std::min(size_.read(), in->capacity - first)};
  }

  // All by a writer.
  void become(const view& next) {
    now_.write(next.in);
    first_.write(next.first);
    size_.write(next.size);
  }
  arrays* new_arrays(std::size_t size) {
    return all_.emplace_back(std::make_unique<arrays>(size)).get();
  }
  static void copy(const view& from, std::size_t there, const view& to, std::size_t here,
                   std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      to.put(here + i, from.key_at(there + i), from.value_at(there + i));
    }
  }
  static void copy_backwards(const view& from, std::size_t there, const view& to, std::size_t here,
                             std::size_t count) {
    for (std::size_t i = count; i-- > 0;) {
      to.put(here + i, from.key_at(there + i), from.value_at(there + i));
    }
  }

  template <class Begin, class Within, class Visit>
  void visit_from(Begin begin, Within within, Visit& visit) {
    std::vector<std::pair<K, V>> met;
    section_.read([&] {
      met.clear();
      const view now = seen();
      for (std::size_t i = begin(now); i < now.size && within(now.key_at(i)); ++i) {
        met.emplace_back(now.key_at(i), now.value_at(i));
      }
    });
    for (const auto& [key, value] : met) visit(key, value);
  }

  Section section_;
  // All that there ever were, as readers may be in any of them: together twice the last. By writers.
  std::vector<std::unique_ptr<arrays>> all_{};
  assay::sync::section_word<arrays*> now_{new_arrays(at_first)};
  assay::sync::section_word<std::size_t> first_{at_first / 2};
  assay::sync::section_word<std::size_t> size_{0};
};

using number = std::uint64_t;
using optimistic = flat_map<number, number, assay::sync::optimistic_section<>>;
using shared = flat_map<number, number, excluding_section<std::shared_mutex>>;
using exclusive = flat_map<number, number, excluding_section<std::mutex>>;

const assay::subject<optimistic> registered{
    "flat_map_optimistic",
    "a sorted array behind one sync::optimistic_section over std::mutex: readers write nothing",
    "nothing"};
const assay::subject<shared> registered_shared{
    "flat_map_shared_mutex", "flat_map_optimistic, behind one std::shared_mutex", "nothing"};
const assay::subject<exclusive> registered_exclusive{
    "flat_map_mutex", "flat_map_optimistic, behind one std::mutex", "nothing"};

}  // namespace
