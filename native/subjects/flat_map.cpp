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

// Keys in ascending order, and their values, in two arrays. A search takes log n steps; an insert
// and an erase move half of the elements on average, so that it is a map for a few thousand.
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

  // What there is at one moment or, for a reader, may never have been: `size` is within the arrays
  // in any case.
  struct view {
    arrays* in;
    std::size_t size;

    // The first key that is not less, or the size. Takes the same steps whatever it meets.
    [[nodiscard]] std::size_t lower_bound(K key) const {
      std::size_t first = 0;
      for (std::size_t left = size; left > 0;) {
        const std::size_t half = left / 2;
        const bool right = in->key[first + half].read() < key;
        first = right ? first + half + 1 : first;
        left = right ? left - half - 1 : half;
      }
      return first;
    }
    [[nodiscard]] bool holds(std::size_t place, K key) const {
      return place < size && in->key[place].read() == key;
    }
  };

 public:
  static constexpr bool ordered = true;

  bool insert(K key, V value) {
    return section_.write([&](auto& change) {
      const view now = seen();
      const std::size_t place = now.lower_bound(key);
      if (now.holds(place, key)) return false;
      const bool grows = now.size == now.in->capacity;
      arrays* const in = grows ? new_arrays(2 * now.size) : now.in;
      change.begin();
      for (std::size_t i = 0; grows && i < place; ++i) copy(now.in, i, in, i);
      for (std::size_t i = now.size; i > place; --i) copy(now.in, i - 1, in, i);
      in->key[place].write(key);
      in->value[place].write(value);
      if (grows) now_.write(in);
      size_.write(now.size + 1);
      return true;
    });
  }

  bool erase(K key) {
    return section_.write([&](auto& change) {
      const view now = seen();
      const std::size_t place = now.lower_bound(key);
      if (!now.holds(place, key)) return false;
      change.begin();
      for (std::size_t i = place + 1; i < now.size; ++i) copy(now.in, i, now.in, i - 1);
      size_.write(now.size - 1);
      return true;
    });
  }

  [[gnu::always_inline]] std::optional<V> find(K key) {
    const auto [found, value] = section_.read([&] {
      const view now = seen();
      const std::size_t place = now.lower_bound(key);
      const bool holds = now.holds(place, key);
      return std::pair(holds, holds ? now.in->value[place].read() : V());
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
    return {in, std::min(size_.read(), in->capacity)};
  }

  // Both by a writer.
  arrays* new_arrays(std::size_t size) {
    return all_.emplace_back(std::make_unique<arrays>(size)).get();
  }
  static void copy(const arrays* from, std::size_t there, arrays* to, std::size_t here) {
    to->key[here].write(from->key[there].read());
    to->value[here].write(from->value[there].read());
  }

  template <class Begin, class Within, class Visit>
  void visit_from(Begin begin, Within within, Visit& visit) {
    std::vector<std::pair<K, V>> met;
    section_.read([&] {
      met.clear();
      const view now = seen();
      for (std::size_t i = begin(now); i < now.size && within(now.in->key[i].read()); ++i) {
        met.emplace_back(now.in->key[i].read(), now.in->value[i].read());
      }
    });
    for (const auto& [key, value] : met) visit(key, value);
  }

  Section section_;
  // All that there ever were, as readers may be in any of them: together twice the last. By writers.
  std::vector<std::unique_ptr<arrays>> all_{};
  assay::sync::section_word<arrays*> now_{new_arrays(at_first)};
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
