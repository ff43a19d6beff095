// The multimap and the queue as sets of numbers, each asked what it has an operation for.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/maps/elb_multimap.h"
#include "assay/maps/elb_priority_queue.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "tests/maps/elb_test_variants.h"

namespace assay::elb_test {
namespace {

template <class K, class V>
number number_of(const std::pair<K, V>& pair) {
  return number{pair.first} * per_key + number{pair.second};
}
template <class K, class V>
std::optional<number> number_of(const std::optional<std::pair<K, V>>& pair) {
  return pair ? std::optional(number_of(*pair)) : std::nullopt;
}

std::pair<std::uint64_t, std::uint32_t> pair_of(
    const elb::element<std::uint64_t, std::uint32_t>& element) {
  return {element.key, element.value};
}

template <class Held, class Handle>
class user : public number_set {
 public:
  std::unique_ptr<number_handle> attach() override { return std::make_unique<Handle>(held_); }
  std::vector<number> walk() override {
    std::vector<number> met;
    if constexpr (requires { typename Held::key_type; }) {
      held_.for_each(
          [&](auto key, auto value) { met.push_back(number_of(std::pair(key, value))); });
    } else {
      held_.for_each([&](const auto& element) { met.push_back(number_of(pair_of(element))); });
    }
    return met;
  }
  std::optional<std::string> broken_invariant() override { return held_.broken_invariant(); }

 private:
  Held held_;
};

struct small : elb_nodes<6> {
  static constexpr unsigned key_bits = 31;
};
using multimap = elb_multimap<std::uint32_t, std::uint32_t, reclaim::hazard_pointers, small>;
using queue = elb_priority_queue<elb::element<std::uint64_t, std::uint32_t>, std::less<>,
                                 reclaim::epochs, elb_nodes<8, 6>>;

// Its ranges are one entry, one key, or all from a key on.
class multimap_handle final : public number_handle {
 public:
  explicit multimap_handle(multimap& of) : handle_(of.attach()) {}

  void insert(number entry) override { handle_.insert(key_of(entry), value_of(entry)); }
  std::optional<number> search(number lo, number hi) override {
    const auto key = key_of(lo);
    if (lo == hi) return handle_.contains(key, value_of(lo)) ? std::optional(lo) : std::nullopt;
    const auto value = handle_.find(key);
    // Seldom both, and one answer is as good as another.
    if (!value) return std::nullopt;
    return number_of(std::pair(key, *value));
  }
  std::optional<number> erase(number lo, number hi) override {
    const auto key = key_of(lo);
    if (lo == hi) return handle_.erase(key, value_of(lo)) ? std::optional(lo) : std::nullopt;
    if (key_of(hi) != key) return number_of(handle_.erase_from(key));
    const auto value = handle_.erase(key);
    return value ? std::optional(number_of(std::pair(key, *value))) : std::nullopt;
  }
  std::optional<number> erase_near(number lo, number hi) override { return erase(lo, hi); }
  std::vector<number> visit(number lo, number /*hi*/) override {
    std::vector<number> met;
    const auto key = key_of(lo);
    handle_.visit(key,
                  [&](std::uint32_t value) { met.push_back(number_of(std::pair(key, value))); });
    return met;
  }
  std::uint64_t approximate_size() override { return handle_.approximate_size(); }

 private:
  static std::uint32_t key_of(number entry) { return static_cast<std::uint32_t>(entry / per_key); }
  static std::uint32_t value_of(number entry) {
    return static_cast<std::uint32_t>(entry % per_key);
  }
  multimap::handle handle_;
};

class queue_handle final : public number_handle {
 public:
  explicit queue_handle(queue& of) : handle_(of.attach()) {}

  void insert(number entry) override {
    handle_.push({entry / per_key, static_cast<std::uint32_t>(entry % per_key)});
  }
  std::optional<number> erase(number, number) override { return of(handle_.try_pop()); }
  std::optional<number> erase_near(number, number) override { return of(handle_.try_pop_near()); }
  std::optional<number> search(number, number) override { throw not_offered(); }
  std::vector<number> visit(number, number) override { throw not_offered(); }
  std::uint64_t approximate_size() override { return handle_.approximate_size(); }

 private:
  static std::optional<number> of(const std::optional<queue::value_type>& popped) {
    return popped ? std::optional(number_of(pair_of(*popped))) : std::nullopt;
  }
  static std::logic_error not_offered() { return std::logic_error("a queue does not search"); }
  queue::handle handle_;
};

}  // namespace

std::vector<variant> variants_of_users() {
  return {
      {"multimap_6", [] { return std::make_unique<user<multimap, multimap_handle>>(); }, 0,
       ranges::of_keys},
      {"queue_8_6", [] { return std::make_unique<user<queue, queue_handle>>(); }, 7, ranges::all},
  };
}

std::vector<variant> all_variants() {
  std::vector<variant> all = variants_of_words();
  for (const auto& more : {variants_of_wide_words(), variants_of_users()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace assay::elb_test
