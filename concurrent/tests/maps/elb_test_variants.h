// What the tests of ELB-trees share: trees of several entries, policies and settings, and the
// multimap and the queue, which are asked what they offer, all as sets of numbers.

#ifndef TESTS_MAPS_ELB_TEST_VARIANTS_H_
#define TESTS_MAPS_ELB_TEST_VARIANTS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_tree.h"
#include "assay/subject/type_spec.h"

namespace assay::subject {

// A word of 128 bits has the number in its high bits.
template <>
class codec<elb::wide> {
 public:
  static elb::wide encode(std::uint64_t number) { return elb::wide{number} << shift; }
  static std::uint64_t decode(elb::wide entry) {
    return static_cast<std::uint64_t>(entry >> shift);
  }

 private:
  static constexpr unsigned shift = 70;
};

// The 32 high bits are the pair's key, the others its value. If the type has a sign, both are moved
// to where half of them are negative.
template <class K, class V, unsigned KeyBits, unsigned ValueBits>
class codec<elb::element<K, V, KeyBits, ValueBits>> {
  using entry = elb::element<K, V, KeyBits, ValueBits>;
  static constexpr std::uint64_t values = std::uint64_t{1} << 32;
  static constexpr std::int64_t key_offset = std::is_signed_v<K> ? 512 : 0;
  static constexpr std::int64_t value_offset = std::is_signed_v<V> ? std::int64_t{1} << 31 : 0;

 public:
  static entry encode(std::uint64_t number) {
    return {static_cast<K>(static_cast<std::int64_t>(number / values) - key_offset),
            static_cast<V>(static_cast<std::int64_t>(number % values) - value_offset)};
  }
  static std::uint64_t decode(const entry& of) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(of.key) + key_offset) * values +
           static_cast<std::uint64_t>(static_cast<std::int64_t>(of.value) + value_offset);
  }
};

}  // namespace assay::subject

namespace assay::elb_test {

inline constexpr unsigned slowdown = ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER ? 8 : 1;

using number = std::uint64_t;

// Entries of a few keys meet this far apart: key * 2^32 and what makes it the only one.
inline constexpr number per_key = number{1} << 32;

// The greatest number that represents an entry of each type, in the order of entries.
inline constexpr number greatest = (number{1} << 52) - 1;

// A set, and a thread's handle of it, whose entries are numbers, so that each test is compiled
// once.
class number_handle {
 public:
  number_handle() = default;
  number_handle(const number_handle&) = delete;
  number_handle& operator=(const number_handle&) = delete;
  virtual ~number_handle() = default;

  virtual void insert(number entry) = 0;
  virtual std::optional<number> search(number lo, number hi) = 0;
  virtual std::optional<number> erase(number lo, number hi) = 0;
  virtual std::optional<number> erase_near(number lo, number hi) = 0;
  virtual std::vector<number> visit(number lo, number hi) = 0;
  virtual number approximate_size() = 0;
};
class number_set {
 public:
  number_set() = default;
  number_set(const number_set&) = delete;
  number_set& operator=(const number_set&) = delete;
  virtual ~number_set() = default;

  virtual std::unique_ptr<number_handle> attach() = 0;
  virtual std::vector<number> walk() = 0;
  virtual std::optional<std::string> broken_invariant() = 0;
};

template <class Set, class Entry>
class numbered final : public number_set {
  using entries = subject::codec<Entry>;

  class handle final : public number_handle {
   public:
    explicit handle(Set& set) : handle_(set.attach()) {}

    void insert(number entry) override { handle_.insert(entries::encode(entry)); }
    std::optional<number> search(number lo, number hi) override {
      return number_of(handle_.search(entries::encode(lo), entries::encode(hi)));
    }
    std::optional<number> erase(number lo, number hi) override {
      return number_of(handle_.erase(entries::encode(lo), entries::encode(hi)));
    }
    std::optional<number> erase_near(number lo, number hi) override {
      return number_of(handle_.erase_near(entries::encode(lo), entries::encode(hi)));
    }
    std::vector<number> visit(number lo, number hi) override {
      std::vector<number> met;
      handle_.visit(entries::encode(lo), entries::encode(hi),
                    [&](const Entry& entry) { met.push_back(entries::decode(entry)); });
      return met;
    }
    number approximate_size() override { return handle_.approximate_size(); }

   private:
    static std::optional<number> number_of(const std::optional<Entry>& entry) {
      return entry ? std::optional(entries::decode(*entry)) : std::nullopt;
    }

    typename Set::handle handle_;
  };

 public:
  std::unique_ptr<number_handle> attach() override { return std::make_unique<handle>(set_); }
  std::vector<number> walk() override {
    std::vector<number> met;
    set_.for_each([&](const Entry& entry) { met.push_back(entries::decode(entry)); });
    return met;
  }
  std::optional<std::string> broken_invariant() override { return set_.broken_invariant(); }

 private:
  Set set_;
};

// The ranges that a set supports: between any two entries; of one entry or one key, and in an
// erase of all from a key on; of all entries, by erases alone.
enum class ranges : std::uint8_t { any, of_keys, all };

struct variant {
  std::string name;
  std::function<std::unique_ptr<number_set>()> make;
  std::size_t left_by_near;  // how many smaller entries erase_near() may leave
  ranges asked = ranges::any;
};
inline std::ostream& operator<<(std::ostream& out, const variant& printed) {
  return out << printed.name;
}

// Nodes of 6 are balanced all the time.
std::vector<variant> variants_of_words();
std::vector<variant> variants_of_wide_words();
std::vector<variant> variants_of_users();  // a multimap and a queue
std::vector<variant> all_variants();

template <class Entry, class Reclaim, class Settings>
variant variant_of(std::string name) {
  using set = numbered<elb_tree<Entry, Reclaim, Settings>, Entry>;
  return {std::move(name), [] { return std::make_unique<set>(); }, Settings::leaf_capacity - 1};
}

}  // namespace assay::elb_test

#endif  // TESTS_MAPS_ELB_TEST_VARIANTS_H_
