// Requests to a map that wait until there are many, and are then carried out together, by the map's
// find_many(), insert_many() and erase_many(). Where the map is larger than the caches these are
// faster than single calls: docs/guide/bt_map.md says by how much, without what is added here.
//
//     assay::bt_map<std::uint64_t, double> prices;
//     auto handle = prices.attach();
//     assay::requests waiting(handle);
//
//     waiting.find(7, [&](std::optional<double> price) { answer(client, price); });
//     waiting.insert(8, 2.5, [&](bool is_added) { ... });
//     waiting.erase(9, [&](bool is_erased) { ... });
//     waiting.carry_out();             // as when an event loop has read what its clients sent
//
// All requests that wait are as concurrent calls: each takes effect during carry_out(), by itself,
// and in any order with the others. carry_out() waits for other threads as the map's calls do.

#ifndef ASSAY_MAPS_REQUESTS_H_
#define ASSAY_MAPS_REQUESTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/abi.h"

namespace assay::inline ASSAY_ABI {

// A thread's requests by its handle of a bt_map or radix_map. Belongs to that thread, and ends
// before the handle does. Requests that wait then are not carried out.
template <class Handle>
class requests {
  using map = std::remove_cvref_t<decltype(std::declval<Handle&>().map())>;
  using K = typename map::key_type;
  using V = typename map::mapped_type;

 public:
  explicit requests(Handle& handle) : handle_(&handle) {}

  // Each takes a function that will be called with what the handle's call of that name answers, or
  // an empty one if nobody is to be told. Throws std::bad_alloc and what moves of keys and values
  // throw, with nothing added.
  void find(K key, std::function<void(std::optional<V>)> tell) {
    finds_.add(std::move(tell), std::move(key));
  }
  void insert(K key, V value, std::function<void(bool)> tell) {
    inserts_.add(std::move(tell), std::move(key), std::move(value));
  }
  void erase(K key, std::function<void(bool)> tell) {
    erases_.add(std::move(tell), std::move(key));
  }

  // How many wait.
  [[nodiscard]] std::size_t waiting() const {
    return finds_.size() + inserts_.size() + erases_.size();
  }

  // Carries out all requests that wait, also those that the functions add, and calls the functions,
  // with no lock held. What the map or a function throws passes. Then up to 64 requests are gone,
  // those of one call of the map, and all others wait on. If the map threw, each of the 64 was
  // carried out or not, and none of their functions is called; if a function threw, all of them
  // were carried out, and the functions after that one are not called.
  void carry_out() {
    while (waiting() != 0) {
      finds_.carry_out([this](std::size_t first, std::size_t number, auto found) {
        with_span(finds_.keys, first, number,
                  [&](std::span<const K> keys) { handle_->find_many(keys, found); });
      });
      inserts_.carry_out([this](std::size_t first, std::size_t number, auto added) {
        with_span(inserts_.keys, first, number, [&](std::span<const K> keys) {
          with_span(inserts_.values, first, number,
                    [&](std::span<const V> values) { handle_->insert_many(keys, values, added); });
        });
      });
      erases_.carry_out([this](std::size_t first, std::size_t number, auto erased) {
        with_span(erases_.keys, first, number,
                  [&](std::span<const K> keys) { handle_->erase_many(keys, erased); });
      });
    }
  }

 private:
  static constexpr std::size_t at_once = 64;

  // What waits: for each function a key, and a value if it is to be inserted. An addition that
  // threw may have left more of these at the end.
  template <class Answer>
  struct queue {
    std::vector<K> keys;
    std::vector<V> values;
    std::vector<std::function<void(Answer)>> tell;

    [[nodiscard]] std::size_t size() const { return tell.size(); }
    template <class... Values>
    void add(std::function<void(Answer)> told, K key, Values... value) {
      shrink(size());
      keys.push_back(std::move(key));
      (values.push_back(std::move(value)), ...);
      tell.push_back(std::move(told));
    }
    void shrink(std::size_t size) {
      while (keys.size() > size) keys.pop_back();
      while (values.size() > size) values.pop_back();
      while (tell.size() > size) tell.pop_back();
    }
    // Some of the last ones, which are taken from a vector at no cost: call(first, number, answers)
    // carries them out.
    template <class Call>
    void carry_out(const Call& call) {
      const std::size_t number = std::min(size(), at_once);
      const std::size_t first = size() - number;
      std::array<Answer, at_once> answers{};
      std::array<std::function<void(Answer)>, at_once> told;
      std::move(tell.begin() + static_cast<std::ptrdiff_t>(first), tell.end(), told.begin());
      try {
        if (number != 0) call(first, number, std::span(answers).first(number));
      } catch (...) {
        shrink(first);
        throw;
      }
      shrink(first);
      for (std::size_t i = 0; i < number; ++i) {
        if (told[i]) told[i](std::move(answers[i]));
      }
    }
  };

  // Calls f with some of a vector: one of bool has none that a span could be of.
  template <class T, class F>
  static void with_span(const std::vector<T>& all, std::size_t first, std::size_t number,
                        const F& f) {
    if constexpr (std::is_same_v<T, bool>) {
      std::array<bool, at_once> some{};
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), number, some.begin());
      f(std::span<const bool>(some).first(number));
    } else {
      f(std::span(all).subspan(first, number));
    }
  }

  Handle* handle_;
  queue<std::optional<V>> finds_;
  queue<bool> inserts_;
  queue<bool> erases_;
};

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_REQUESTS_H_
