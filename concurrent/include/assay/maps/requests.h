// Requests to a map that wait until there are many, and are then carried out together: that is
// several times as fast as one by one where the map is larger than the caches (bt_map's find_many()
// says why).
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
// and in any order with the others.

#ifndef ASSAY_MAPS_REQUESTS_H_
#define ASSAY_MAPS_REQUESTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/abi.h"

namespace assay::inline ASSAY_ABI {

// A thread's requests by its handle of a bt_map or radix_map. Belongs to that thread, and ends
// before the handle does. Requests that wait then are not carried out. Its functions may throw
// std::bad_alloc and what copies and moves of keys and values throw.
template <class Handle>
class requests {
  using map = std::remove_cvref_t<decltype(std::declval<Handle&>().map())>;
  using K = typename map::key_type;
  using V = typename map::mapped_type;

 public:
  explicit requests(Handle& handle) : handle_(&handle) {}

  // Each takes a function that will be called with what the handle's call of that name answers.
  void find(K key, std::function<void(std::optional<V>)> tell) {
    finds_.push_back({std::move(key), std::move(tell)});
  }
  void insert(K key, V value, std::function<void(bool)> tell) {
    inserts_.push_back({{std::move(key), std::move(tell)}, std::move(value)});
  }
  void erase(K key, std::function<void(bool)> tell) {
    erases_.push_back({std::move(key), std::move(tell)});
  }

  // How many wait.
  [[nodiscard]] std::size_t waiting() const {
    return finds_.size() + inserts_.size() + erases_.size();
  }

  // Carries out all requests that wait, also those that the functions add, and calls the functions,
  // with no lock held. If the map or a function throws, that passes: up to 64 requests may have
  // been carried out or not, and their functions are not called; all others wait on.
  void carry_out() {
    while (waiting() != 0) {
      carry_out_some<std::optional<V>>(finds_,
                                       [this](const auto& keys, auto& /*some*/, auto found) {
                                         handle_->find_many(keys, found);
                                       });
      carry_out_some<bool>(inserts_, [this](const auto& keys, auto& some, auto added) {
        std::vector<V> values;
        for (auto& each : some) values.push_back(std::move(each.value));
        handle_->insert_many(keys, values, added);
      });
      carry_out_some<bool>(erases_, [this](const auto& keys, auto& /*some*/, auto erased) {
        handle_->erase_many(keys, erased);
      });
    }
  }

 private:
  template <class Answer>
  struct request {
    K key;
    std::function<void(Answer)> tell;
  };
  struct insertion : request<bool> {
    V value;
  };

  // Some of the last of these requests: what is at the end is taken from a vector at no cost.
  template <class Answer, class Request, class CarryOut>
  static void carry_out_some(std::vector<Request>& all, const CarryOut& carry_out) {
    constexpr std::size_t at_once = 64;
    const auto first = all.end() - static_cast<std::ptrdiff_t>(std::min(all.size(), at_once));
    std::vector<Request> some(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
    std::vector<K> keys;
    for (Request& each : some) keys.push_back(std::move(each.key));
    std::array<Answer, at_once> answers{};
    carry_out(keys, some, std::span(answers).first(some.size()));
    for (std::size_t i = 0; i < some.size(); ++i) some[i].tell(std::move(answers[i]));
  }

  Handle* handle_;
  std::vector<request<std::optional<V>>> finds_;
  std::vector<insertion> inserts_;
  std::vector<request<bool>> erases_;
};

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_REQUESTS_H_
