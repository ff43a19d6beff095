// Any concurrent map behind one interface of numbers, for code that asks maps single questions and
// looks at each answer: tests, checkers, tools. A call through it costs a virtual call and, where
// elements are visited, a vector; code that measures maps is a template over them instead.
//
//     std::unique_ptr<assay::any_map> map = std::make_unique<assay::erased_map<my_map>>();
//     auto handle = map->attach();                            // in each thread
//     const assay::answer answer = handle->ask({.kind = workload::operation::find, .key = 7});
//     std::get<std::optional<std::uint64_t>>(answer);
//
// A map of other keys or values is asked in numbers, too, which stand for them (standing_for):
//
//     assay::erased_map<my_map<std::string, std::uint32_t>, std::string, std::uint32_t> map;
//
// What a call promises, and which threads may make it, is what the map's own call promises; see
// concept.h.

#ifndef ASSAY_MAPS_ANY_MAP_H_
#define ASSAY_MAPS_ANY_MAP_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "assay/maps/concept.h"
#include "assay/maps/invariant.h"
#include "assay/workload/operation_batch.h"

namespace assay {

// A key and its value.
using element = std::pair<std::uint64_t, std::uint64_t>;

struct question {
  workload::operation kind = workload::operation::find;
  std::uint64_t key = 0;    // of a range: the first
  std::uint64_t value = 0;  // of an insert
  std::uint64_t last = 0;   // of a range
};

// Of insert and erase; of find; of size; of what visits several, in the order of the visit.
using answer =
    std::variant<bool, std::optional<std::uint64_t>, std::uint64_t, std::vector<element>>;

// How numbers stand for keys and values of type T, in the same order.
//
//     datum(number)    what the number stands for
//     number(datum)    the other way; throws std::runtime_error if none does
//     greatest         of those that stand for something
template <class T>
struct standing_for;

template <std::unsigned_integral T>
struct standing_for<T> {
  static constexpr std::uint64_t greatest = static_cast<T>(-1);
  static T datum(std::uint64_t number) { return static_cast<T>(number); }
  static std::uint64_t number(T datum) { return datum; }
};

// The bytes of the number, the highest first, without zeros at the end: 0 is the empty string, and
// some strings are the beginning of others. Odd numbers go on for so long that the string has to be
// allocated; that leaves the order as it is, as no string without zeros at its end begins another.
template <>
struct standing_for<std::string> {
  static constexpr std::uint64_t greatest = UINT64_MAX;

  static std::string datum(std::uint64_t number) {
    std::string bytes;
    for (std::uint64_t left = number; left != 0; left <<= 8U) {
      bytes += static_cast<char>(left >> 56U);
    }
    if (number % 2 == 1) bytes += more;
    return bytes;
  }
  static std::uint64_t number(std::string_view datum) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const unsigned char byte = i < datum.size() ? static_cast<unsigned char>(datum[i]) : 0;
      number = number << 8U | byte;
    }
    if (standing_for::datum(number) != datum) {
      throw std::runtime_error("a string of " + std::to_string(datum.size()) +
                               " bytes that was never inserted");
    }
    return number;
  }

 private:
  static constexpr std::string_view more = "and on, for longer than a string has room";
};

class any_handle {
 public:
  any_handle() = default;
  any_handle(const any_handle&) = delete;
  any_handle& operator=(const any_handle&) = delete;
  virtual ~any_handle() = default;

  // Throws std::logic_error if the map does not offer the operation, std::runtime_error if it
  // answers with what no number stands for, and what the map throws.
  virtual answer ask(const question& asked) = 0;
};

class any_map {
 public:
  any_map() = default;
  any_map(const any_map&) = delete;
  any_map& operator=(const any_map&) = delete;
  virtual ~any_map() = default;

  // For the calling thread, which also destroys it, before the map.
  [[nodiscard]] virtual std::unique_ptr<any_handle> attach() = 0;

  // What for_each visits, at most `most` elements; no handle is inside a call.
  [[nodiscard]] virtual std::vector<element> walk(std::size_t most) = 0;

  // What is wrong with it, as far as it can tell; no handle is inside a call.
  [[nodiscard]] virtual std::optional<std::string> broken_invariant() = 0;
};

template <class Map, class K = std::uint64_t, class V = std::uint64_t>
  requires concurrent_map<Map, K, V>
class erased_map final : public any_map {
  using number = std::uint64_t;
  using keys = standing_for<K>;
  using values = standing_for<V>;
  using handle_type = decltype(std::declval<Map&>().attach());

 public:
  // Builds the map from `arguments`.
  template <class... Arguments>
  explicit erased_map(const Arguments&... arguments) : map_(arguments...) {}

  std::unique_ptr<any_handle> attach() override { return std::make_unique<handle>(map_); }

  std::vector<element> walk(std::size_t most) override {
    struct enough {};
    std::vector<element> met;
    try {
      map_.for_each([&](const K& key, const V& value) {
        if (met.size() == most) throw enough();
        met.emplace_back(keys::number(key), values::number(value));
      });
    } catch (const enough&) {
      return met;
    }
    return met;
  }

  std::optional<std::string> broken_invariant() override {
    return assay::broken_invariant<K>(map_);
  }

 private:
  // Keeps what it is called with.
  class collector {
   public:
    explicit collector(std::vector<element>& met) : met_(&met) {}
    void operator()(const K& key, const V& value) const {
      met_->emplace_back(keys::number(key), values::number(value));
    }
    void begin_again() const { met_->clear(); }

   private:
    std::vector<element>* met_;
  };

  class handle final : public any_handle {
   public:
    explicit handle(Map& map) : handle_(map.attach()) {}

    answer ask(const question& asked) override {
      using workload::operation;
      switch (asked.kind) {
        case operation::insert:
          return insert(asked.key, asked.value);
        case operation::erase:
          return erase(asked.key);
        case operation::find:
          return find(asked.key);
        case operation::size:
          return size();
        default:
          return visit(asked);
      }
    }

   private:
    // Nobody requests a stop of `never_`, so that no operation gives up.
    bool insert(number key, number value) {
      if constexpr (stoppable_map_handle<handle_type, K, V>) {
        return handle_.insert(keys::datum(key), values::datum(value), never_).value();
      } else {
        return handle_.insert(keys::datum(key), values::datum(value));
      }
    }
    bool erase(number key) {
      if constexpr (stoppable_map_handle<handle_type, K, V>) {
        return handle_.erase(keys::datum(key), never_).value();
      } else {
        return handle_.erase(keys::datum(key));
      }
    }
    std::optional<number> find(number key) {
      std::optional<V> found;
      if constexpr (stoppable_map_handle<handle_type, K, V>) {
        found = handle_.find(keys::datum(key), never_).value();
      } else {
        found = handle_.find(keys::datum(key));
      }
      return found ? std::optional(values::number(*found)) : std::nullopt;
    }
    number size() {
      if constexpr (stoppable_size<handle_type>) {
        return handle_.size(never_).value();
      } else if constexpr (plain_size<handle_type>) {
        return handle_.size();
      } else {
        throw not_offered();
      }
    }
    std::vector<element> visit(const question& asked) {
      using workload::operation;
      std::vector<element> met;
      const collector collect(met);
      if (asked.kind == operation::range) {
        if constexpr (stoppable_range<handle_type, K, V>) {
          handle_.range(keys::datum(asked.key), keys::datum(asked.last), collect, never_);
          return met;
        } else if constexpr (plain_range<handle_type, K, V>) {
          handle_.range(keys::datum(asked.key), keys::datum(asked.last), collect);
          return met;
        }
      } else if (asked.kind == operation::snapshot) {
        if constexpr (stoppable_snapshot<handle_type, K, V>) {
          handle_.snapshot(collect, never_);
          return met;
        } else if constexpr (plain_snapshot<handle_type, K, V>) {
          handle_.snapshot(collect);
          return met;
        }
      } else {
        if constexpr (stoppable_iterate<handle_type, K, V>) {
          handle_.iterate(collect, never_);
          return met;
        } else if constexpr (plain_iterate<handle_type, K, V>) {
          handle_.iterate(collect);
          return met;
        }
      }
      throw not_offered();
    }
    static std::logic_error not_offered() {
      return std::logic_error("the map does not offer this operation");
    }

    handle_type handle_;
    std::stop_token never_;
  };

  Map map_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_ANY_MAP_H_
