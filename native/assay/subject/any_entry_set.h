// Any set of unique entries (elb_tree.h) behind one interface of numbers, for code that asks sets
// single questions and looks at each answer, as any_map.h is for maps.
//
//     using tree = assay::elb_tree<std::uint64_t>;
//     assay::subject::erased_entry_set<tree, std::uint64_t> set;  // an any_entry_set
//     auto handle = set.attach();                                 // in each thread
//     handle->insert(7);
//     handle->erase(0, 9);  // std::optional(7)
//
// Numbers below 2^52 represent entries of other types, in the same order (type_spec.h).
// What a call promises is what the set's own call promises.

#ifndef ASSAY_SUBJECT_ANY_ENTRY_SET_H_
#define ASSAY_SUBJECT_ANY_ENTRY_SET_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "assay/maps/elb_entry.h"
#include "assay/subject/type_spec.h"

namespace assay::subject {

class any_entry_handle {
 public:
  any_entry_handle() = default;
  any_entry_handle(const any_entry_handle&) = delete;
  any_entry_handle& operator=(const any_entry_handle&) = delete;
  virtual ~any_entry_handle() = default;

  // They throw what the set throws.
  virtual void insert(std::uint64_t entry) = 0;
  virtual std::optional<std::uint64_t> search(std::uint64_t lo, std::uint64_t hi) = 0;
  virtual std::optional<std::uint64_t> erase(std::uint64_t lo, std::uint64_t hi) = 0;
  virtual std::optional<std::uint64_t> erase_near(std::uint64_t lo, std::uint64_t hi) = 0;
  // What is visited, in that order.
  virtual std::vector<std::uint64_t> visit(std::uint64_t lo, std::uint64_t hi) = 0;
  virtual std::uint64_t approximate_size() = 0;
};

class any_entry_set {
 public:
  any_entry_set() = default;
  any_entry_set(const any_entry_set&) = delete;
  any_entry_set& operator=(const any_entry_set&) = delete;
  virtual ~any_entry_set() = default;

  // For the calling thread, which also destroys it, before the set.
  [[nodiscard]] virtual std::unique_ptr<any_entry_handle> attach() = 0;

  // What for_each visits, and what is wrong with it; no handle is inside a call.
  [[nodiscard]] virtual std::vector<std::uint64_t> walk() = 0;
  [[nodiscard]] virtual std::optional<std::string> broken_invariant() = 0;
};

// The ranges that a set supports: between any two entries; of one entry or one key, and in an
// erase of all from a key on; of all entries, by erases alone. A key is 2^32 entries.
enum class entry_ranges : std::uint8_t { any, of_keys, all };

// The greatest number that represents an entry of each type.
inline constexpr std::uint64_t greatest_entry_number = (std::uint64_t{1} << 52) - 1;

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

template <class Set, class Entry>
class erased_entry_set final : public any_entry_set {
  using number = std::uint64_t;
  using entries = codec<Entry>;

 public:
  std::unique_ptr<any_entry_handle> attach() override { return std::make_unique<handle>(set_); }

  std::vector<number> walk() override {
    std::vector<number> met;
    set_.for_each([&](const Entry& entry) { met.push_back(entries::decode(entry)); });
    return met;
  }
  std::optional<std::string> broken_invariant() override { return set_.broken_invariant(); }

 private:
  class handle final : public any_entry_handle {
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

  Set set_;
};

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_ANY_ENTRY_SET_H_
