// Operations of maps beyond insert, erase, find and the others that maps/concept.h describes. Each
// has a name, and functions that check its answers.
//
// Every map whose handle has a function with an operation's name offers that operation. A map may
// have others:
//
//     namespace subject = assay::subject;
//     struct find_or_insert_operation {
//       static constexpr std::string_view name = "find_or_insert";
//
//       // Calls it, for any map that has it: `map.handle` is the thread's handle, and numbers
//       // represent keys and values (in_numbers).
//       static std::optional<std::uint64_t> ask(auto& map, const subject::question& asked)
//         requires requires { map.handle.find_or_insert(map.key(1), map.value(1)); }
//       {
//         return map.number(
//             map.handle.find_or_insert(map.key(asked.key), map.value(asked.value)));
//       }
//       // What a std::map does and answers. The rig compares the map with it.
//       static std::optional<std::uint64_t> right(subject::elements& held,
//                                                const subject::question& asked) {
//         const auto [at, added] = held.emplace(asked.key, asked.value);
//         return added ? std::nullopt : std::optional(at->second);
//       }
//       // What the answer says about the map's contents. A trial adds it up, and compares the sums
//       // with a walk at its end.
//       static subject::operation_outcome outcome_of(const subject::question& asked,
//                                                   const std::optional<std::uint64_t>& answered) {
//         if (!answered) return {.change = 1};
//         return {.succeeded = false, .seen = subject::element(asked.key, *answered)};
//       }
//     };
//
//     class my_map {
//      public:
//       using operations = subject::operations<find_or_insert_operation>;
//       ...
//
// With that, mixes may name it, trials measure and validate it, and the rig calls it. It may also
// have
//
//     static constexpr bool rare = true;   // takes a microsecond at least: each is timed
//     static constexpr bool spans = true;  // is of the keys from `asked.key` to `asked.last`
//     // How histories record it: as one event or several. Without this function, they do not.
//     static subject::history_event as_history(const subject::question& asked,
//                                              const std::optional<std::uint64_t>* answered);
//     static std::vector<subject::history_event> as_history(...);
//
// An answer is a bool, a number, or an optional number or element. An operation that meets several
// elements and changes nothing has, in place of `ask` and `outcome_of`,
//
//     static void visit(auto& map, const subject::question& asked, auto visit)
//
// which calls visit(key, value) with each: its answer is all of them. They are counted or summed,
// and checked. If the operation spans, they ascend from `asked.key` to `asked.last`, as in a range;
// otherwise they are all that the map holds, as in a snapshot.

#ifndef ASSAY_SUBJECT_OPERATIONS_H_
#define ASSAY_SUBJECT_OPERATIONS_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "assay/maps/concept.h"
#include "assay/subject/any_map.h"
#include "assay/subject/tally.h"
#include "assay/subject/type_spec.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/operations.h"

namespace assay::subject {

// A thread's handle of a map from K to V, and numbers that represent keys and values.
template <class Handle, class K, class V>
struct in_numbers {
  using key_type = K;
  using value_type = V;

  Handle& handle;
  translator<K, V>& translate;

  // A reference is good until the next call.
  decltype(auto) key(std::uint64_t number) const { return translate.key.encode(number); }
  decltype(auto) last_key(std::uint64_t number) const { return translate.last_key.encode(number); }
  decltype(auto) value(std::uint64_t number) const { return translate.value.encode(number); }

  std::uint64_t number(const V& value) const { return translate.value.decode(value); }
  std::optional<std::uint64_t> number(const std::optional<V>& value) const {
    return value ? std::optional(translate.value.decode(*value)) : std::nullopt;
  }
  std::optional<element> pair(const std::optional<std::pair<K, V>>& found) const {
    if (!found) return std::nullopt;
    return element(translate.key.decode(found->first), translate.value.decode(found->second));
  }
};

// What a correct map holds.
using elements = std::map<std::uint64_t, std::uint64_t>;

// What an answer says about the map. Values seen are compared with what their keys must have.
struct operation_outcome {
  bool succeeded = true;
  int change = 0;  // 1: the question's key and value are held now, -1: the key is no longer
  std::optional<element> seen{};
  bool wrong = false;  // no map may answer so
};

// An operation as the judge of histories knows it (rig/linearizability): an `insert_or_assign`, an
// `update`, a `range`, ... with this question and this answer. Histories leave out operations that
// have no such form. There is no answer if it has not returned.
struct history_event {
  std::string_view operation;
  question asked;
  answer answered{};
};

// A list of operations, types like the one above.
template <class... Operations>
struct operations {};

namespace extra_operations {

// A question about all keys from one to another, which found one element or none.
inline history_event range_event(std::uint64_t first, std::uint64_t last,
                                 const std::optional<element>* answered) {
  history_event event{.operation = "range", .asked = {.key = first, .last = last}};
  std::vector<element> met;
  if (answered != nullptr && *answered) met.push_back(**answered);
  event.answered = std::move(met);
  return event;
}
inline std::optional<element> element_at(const elements& held, elements::const_iterator at) {
  return at == held.end() ? std::nullopt : std::optional<element>(*at);
}
inline std::optional<element> element_before(const elements& held, elements::const_iterator at) {
  return at == held.begin() ? std::nullopt : std::optional<element>(*std::prev(at));
}

// A find that is given the value where it is: visit(key, f) calls f(key, value) if the key is
// there.
struct visit {
  static constexpr std::string_view name = "visit";
  template <class Map>
  using visitor = void (*)(const typename Map::key_type& key,
                           const typename Map::value_type& value);

  template <class Map>
  static std::optional<std::uint64_t> ask(Map& map, const question& asked)
    requires requires(visitor<Map> seen) {
      { map.handle.visit(map.key(1), seen) } -> std::same_as<bool>;
    }
  {
    std::optional<std::uint64_t> seen;
    map.handle.visit(map.key(asked.key),
                     [&](const typename Map::key_type& /*key*/,
                         const typename Map::value_type& value) { seen = map.number(value); });
    return seen;
  }
  static std::optional<std::uint64_t> right(const elements& held, const question& asked) {
    const auto at = held.find(asked.key);
    return at == held.end() ? std::nullopt : std::optional(at->second);
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<std::uint64_t>& answered) {
    if (!answered) return {.succeeded = false};
    return {.seen = element(asked.key, *answered)};
  }
  static history_event as_history(const question& asked,
                                  const std::optional<std::uint64_t>* answered) {
    return {.operation = "find",
            .asked = asked,
            .answered = answered == nullptr ? std::optional<std::uint64_t>() : *answered};
  }
};

struct contains {
  static constexpr std::string_view name = "contains";
  static bool ask(auto& map, const question& asked)
    requires requires {
      { map.handle.contains(map.key(1)) } -> std::same_as<bool>;
    }
  {
    return map.handle.contains(map.key(asked.key));
  }
  static bool right(const elements& held, const question& asked) {
    return held.contains(asked.key);
  }
  static operation_outcome outcome_of(const question& /*asked*/, bool answered) {
    return {.succeeded = answered};
  }
  // A key that is there means the same as an insert that did nothing.
  static history_event as_history(const question& asked, const bool* answered) {
    if (answered != nullptr && *answered) {
      return {.operation = "insert", .asked = asked, .answered = false};
    }
    return {.operation = "find", .asked = asked, .answered = std::optional<std::uint64_t>()};
  }
};

// Whether the key is new.
struct insert_or_assign {
  static constexpr std::string_view name = "insert_or_assign";
  static bool ask(auto& map, const question& asked)
    requires requires {
      { map.handle.insert_or_assign(map.key(1), map.value(1)) } -> std::same_as<bool>;
    }
  {
    return map.handle.insert_or_assign(map.key(asked.key), map.value(asked.value));
  }
  static bool right(elements& held, const question& asked) {
    return held.insert_or_assign(asked.key, asked.value).second;
  }
  static operation_outcome outcome_of(const question& /*asked*/, bool answered) {
    return {.succeeded = answered, .change = answered ? 1 : 0};
  }
  static history_event as_history(const question& asked, const bool* answered) {
    return {.operation = name, .asked = asked, .answered = answered != nullptr && *answered};
  }
};

// The handle has update(key, function): whether the key was there and its value v is now
// function(v). The answer is v.
struct update {
  static constexpr std::string_view name = "update";
  template <class Map, class V = typename std::remove_reference_t<Map>::value_type>
  using value_function = V (*)(const V&);

  static std::optional<std::uint64_t> ask(auto& map, const question& asked)
    requires requires(value_function<decltype(map)> function) {
      { map.handle.update(map.key(1), function) } -> std::same_as<bool>;
    }
  {
    using V = typename std::remove_reference_t<decltype(map)>::value_type;
    std::optional<std::uint64_t> replaced;
    const bool was_there = map.handle.update(map.key(asked.key), [&](const V& held) -> V {
      replaced = map.number(held);
      return map.value(asked.value);
    });
    return was_there ? replaced : std::nullopt;
  }
  static std::optional<std::uint64_t> right(elements& held, const question& asked) {
    const auto at = held.find(asked.key);
    if (at == held.end()) return std::nullopt;
    return std::exchange(at->second, asked.value);
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<std::uint64_t>& answered) {
    if (!answered) return {.succeeded = false};
    return {.seen = element(asked.key, *answered)};
  }
  static history_event as_history(const question& asked,
                                  const std::optional<std::uint64_t>* answered) {
    return {.operation = name,
            .asked = asked,
            .answered = answered == nullptr ? std::nullopt : *answered};
  }
};

// The handle has upsert(key, make, change): adds the value make(), or replaces the value v that is
// there by change(v). Both are the question's value here, and the answer is v.
struct upsert {
  static constexpr std::string_view name = "upsert";

  static std::optional<std::uint64_t> ask(auto& map, const question& asked)
    requires requires(typename std::remove_reference_t<decltype(map)>::value_type (*make)(),
                      update::value_function<decltype(map)> change) {
      { map.handle.upsert(map.key(1), make, change) } -> std::same_as<bool>;
    }
  {
    using V = typename std::remove_reference_t<decltype(map)>::value_type;
    std::optional<std::uint64_t> replaced;
    const auto make = [&]() -> V { return map.value(asked.value); };
    const auto change = [&](const V& held) -> V {
      replaced = map.number(held);
      return map.value(asked.value);
    };
    const bool is_added = map.handle.upsert(map.key(asked.key), make, change);
    return is_added ? std::nullopt : replaced;
  }
  static std::optional<std::uint64_t> right(elements& held, const question& asked) {
    const auto [at, is_added] = held.emplace(asked.key, asked.value);
    return is_added ? std::nullopt : std::optional(std::exchange(at->second, asked.value));
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<std::uint64_t>& answered) {
    if (!answered) return {.change = 1};
    return {.seen = element(asked.key, *answered)};
  }
  static history_event as_history(const question& asked,
                                  const std::optional<std::uint64_t>* answered) {
    if (answered != nullptr && *answered) return update::as_history(asked, answered);
    return {.operation = "insert_or_assign", .asked = asked, .answered = true};
  }
};

// The value of the key, which is removed.
struct extract {
  static constexpr std::string_view name = "extract";
  static std::optional<std::uint64_t> ask(auto& map, const question& asked)
    requires requires { map.number(map.handle.extract(map.key(1))); }
  {
    return map.number(map.handle.extract(map.key(asked.key)));
  }
  static std::optional<std::uint64_t> right(elements& held, const question& asked) {
    const auto removed = held.extract(asked.key);
    return removed ? std::optional(removed.mapped()) : std::nullopt;
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<std::uint64_t>& answered) {
    if (!answered) return {.succeeded = false};
    return {.change = -1, .seen = element(asked.key, *answered)};
  }
  // It was found, and at once erased. The judge does not ask for the latter part, "at once".
  static std::vector<history_event> as_history(const question& asked,
                                               const std::optional<std::uint64_t>* answered) {
    if (answered == nullptr) return {{.operation = "erase", .asked = asked, .answered = false}};
    std::vector<history_event> events{{.operation = "find", .asked = asked, .answered = *answered}};
    if (*answered) events.push_back({.operation = "erase", .asked = asked, .answered = true});
    return events;
  }
};

// The element of the least key that is not below the question's.
struct lower_bound {
  static constexpr std::string_view name = "lower_bound";
  static std::optional<element> ask(auto& map, const question& asked)
    requires requires { map.pair(map.handle.lower_bound(map.key(1))); }
  {
    return map.pair(map.handle.lower_bound(map.key(asked.key)));
  }
  static std::optional<element> right(const elements& held, const question& asked) {
    return element_at(held, held.lower_bound(asked.key));
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(),
            .seen = answered,
            .wrong = answered && answered->first < asked.key};
  }
  static history_event as_history(const question& asked, const std::optional<element>* answered) {
    const bool any = answered != nullptr && *answered;
    return range_event(asked.key, any ? (*answered)->first : UINT64_MAX, answered);
  }
};

// The element of the least key that is above the question's.
struct upper_bound {
  static constexpr std::string_view name = "upper_bound";
  static std::optional<element> ask(auto& map, const question& asked)
    requires requires { map.pair(map.handle.upper_bound(map.key(1))); }
  {
    return map.pair(map.handle.upper_bound(map.key(asked.key)));
  }
  static std::optional<element> right(const elements& held, const question& asked) {
    return element_at(held, held.upper_bound(asked.key));
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(),
            .seen = answered,
            .wrong = answered && answered->first <= asked.key};
  }
  static history_event as_history(const question& asked, const std::optional<element>* answered) {
    if (asked.key == UINT64_MAX) return range_event(UINT64_MAX, 0, answered);  // of no key
    const bool any = answered != nullptr && *answered;
    return range_event(asked.key + 1, any ? (*answered)->first : UINT64_MAX, answered);
  }
};

// The element of the greatest key that is at most the question's.
struct floor {
  static constexpr std::string_view name = "floor";
  static std::optional<element> ask(auto& map, const question& asked)
    requires requires { map.pair(map.handle.floor(map.key(1))); }
  {
    return map.pair(map.handle.floor(map.key(asked.key)));
  }
  static std::optional<element> right(const elements& held, const question& asked) {
    return element_before(held, held.upper_bound(asked.key));
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(),
            .seen = answered,
            .wrong = answered && answered->first > asked.key};
  }
  static history_event as_history(const question& asked, const std::optional<element>* answered) {
    const bool any = answered != nullptr && *answered;
    return range_event(any ? (*answered)->first : 0, asked.key, answered);
  }
};

// The element of the greatest key that is below the question's.
struct predecessor {
  static constexpr std::string_view name = "predecessor";
  static std::optional<element> ask(auto& map, const question& asked)
    requires requires { map.pair(map.handle.predecessor(map.key(1))); }
  {
    return map.pair(map.handle.predecessor(map.key(asked.key)));
  }
  static std::optional<element> right(const elements& held, const question& asked) {
    return element_before(held, held.lower_bound(asked.key));
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(),
            .seen = answered,
            .wrong = answered && answered->first >= asked.key};
  }
  static history_event as_history(const question& asked, const std::optional<element>* answered) {
    if (asked.key == 0) return range_event(UINT64_MAX, 0, answered);  // of no key
    const bool any = answered != nullptr && *answered;
    return range_event(any ? (*answered)->first : 0, asked.key - 1, answered);
  }
};

// The elements of the least key and of the greatest.
struct minimum {
  static constexpr std::string_view name = "minimum";
  static std::optional<element> ask(auto& map, const question& /*asked*/)
    requires requires { map.pair(map.handle.minimum()); }
  {
    return map.pair(map.handle.minimum());
  }
  static std::optional<element> right(const elements& held, const question& /*asked*/) {
    return element_at(held, held.begin());
  }
  static operation_outcome outcome_of(const question& /*asked*/,
                                      const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(), .seen = answered};
  }
  static history_event as_history(const question& /*asked*/,
                                  const std::optional<element>* answered) {
    const bool any = answered != nullptr && *answered;
    return range_event(0, any ? (*answered)->first : UINT64_MAX, answered);
  }
};
struct maximum {
  static constexpr std::string_view name = "maximum";
  static std::optional<element> ask(auto& map, const question& /*asked*/)
    requires requires { map.pair(map.handle.maximum()); }
  {
    return map.pair(map.handle.maximum());
  }
  static std::optional<element> right(const elements& held, const question& /*asked*/) {
    return held.empty() ? std::nullopt : std::optional<element>(*held.rbegin());
  }
  static operation_outcome outcome_of(const question& /*asked*/,
                                      const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(), .seen = answered};
  }
  static history_event as_history(const question& /*asked*/,
                                  const std::optional<element>* answered) {
    const bool any = answered != nullptr && *answered;
    return range_event(any ? (*answered)->first : 0, UINT64_MAX, answered);
  }
};

// The elements from one key to another as of one instant, where a range is not. The handle has
// range_snapshot(first, last, visit).
struct range_snapshot {
  static constexpr std::string_view name = "range_snapshot";
  static constexpr bool rare = true;
  static constexpr bool spans = true;

  static void visit(auto& map, const question& asked, auto visit)
    requires requires { map.handle.range_snapshot(map.key(1), map.last_key(1), visit); }
  {
    map.handle.range_snapshot(map.key(asked.key), map.last_key(asked.last), visit);
  }
  static std::vector<element> right(const elements& held, const question& asked) {
    if (asked.last < asked.key) return {};
    return {held.lower_bound(asked.key), held.upper_bound(asked.last)};
  }
  static history_event as_history(const question& asked, const std::vector<element>* answered) {
    return {.operation = "range",
            .asked = asked,
            .answered = answered == nullptr ? std::vector<element>() : *answered};
  }
};

// Up to 16 searches at once, whose cache misses may overlap, for keys in equal steps from
// `asked.key` to `asked.last`: for each, if there are no more. The handle has
// find_many(keys, found), of a std::span<const K> and one of as many std::optional<V>; each search
// is one of its own. The elements are those that were found.
struct find_many {
  static constexpr std::string_view name = "find_many";
  static constexpr bool spans = true;
  static constexpr std::uint64_t most = 16;

  // Calls each(key) for the keys that are sought.
  static void sought(const question& asked, auto each) {
    if (asked.last < asked.key) return;
    const std::uint64_t span = asked.last - asked.key;
    const std::uint64_t step = std::max<std::uint64_t>(span / (most - 1), 1);
    for (std::uint64_t i = 0; i < most && i * step <= span; ++i) each(asked.key + i * step);
  }

  template <class Map, class K = typename Map::key_type, class V = typename Map::value_type>
  static void visit(Map& map, const question& asked, auto visit)
    requires requires(std::span<const K> keys, std::span<std::optional<V>> found) {
      map.handle.find_many(keys, found);
    }
  {
    // Here, so that what is measured is the searches and no allocation of ours.
    alignas(K) std::array<std::byte, most * sizeof(K)> room;
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    std::pmr::vector<K> keys(&memory);
    keys.reserve(most);
    sought(asked, [&](std::uint64_t key) { keys.push_back(map.key(key)); });
    std::array<std::optional<V>, most> values{};
    const std::span<std::optional<V>> found(values.data(), keys.size());
    map.handle.find_many(std::span<const K>(keys), found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i]) visit(keys[i], *found[i]);
    }
  }
  static std::vector<element> right(const elements& held, const question& asked) {
    std::vector<element> found;
    sought(asked, [&](std::uint64_t key) {
      if (const auto at = held.find(key); at != held.end()) found.emplace_back(*at);
    });
    return found;
  }
  static std::vector<history_event> as_history(const question& asked,
                                               const std::vector<element>* answered) {
    std::vector<history_event> searches;
    sought(asked, [&](std::uint64_t key) {
      std::optional<std::uint64_t> value;
      for (const element& each : answered == nullptr ? std::vector<element>() : *answered) {
        if (each.first == key) value = each.second;
      }
      searches.push_back({.operation = "find", .asked = {.key = key}, .answered = value});
    });
    return searches;
  }
};

// A second map with the elements that the map holds at one instant. The handle has clone(), which
// returns an owning pointer to something with for_each(visit). Its elements are visited, and it is
// destroyed: all of this is the operation.
struct clone {
  static constexpr std::string_view name = "clone";
  static constexpr bool rare = true;

  static void visit(auto& map, const question& /*asked*/, auto visit)
    requires requires { map.handle.clone()->for_each(visit); }
  {
    map.handle.clone()->for_each(visit);
  }
  static std::vector<element> right(const elements& held, const question& /*asked*/) {
    return {held.begin(), held.end()};
  }
  static history_event as_history(const question& asked, const std::vector<element>* answered) {
    return {.operation = "snapshot",
            .asked = asked,
            .answered = answered == nullptr ? std::vector<element>() : *answered};
  }
};

}  // namespace extra_operations

namespace detail {

template <class Operation>
[[nodiscard]] workload::operation number_of() {
  static const workload::operation number = [] {
    constexpr bool is_rare = [] {
      if constexpr (requires { Operation::rare; }) return Operation::rare;
      return false;
    }();
    constexpr bool has_span = [] {
      if constexpr (requires { Operation::spans; }) return Operation::spans;
      return false;
    }();
    return workload::add_operation(
        {.name = std::string(Operation::name), .rare = is_rare, .spans = has_span});
  }();
  return number;
}

template <class... Some, class... More>
operations<Some..., More...> joined(operations<Some...>, operations<More...>);

using assays_own = operations<
    extra_operations::contains, extra_operations::visit, extra_operations::insert_or_assign,
    extra_operations::update, extra_operations::upsert, extra_operations::extract,
    extra_operations::lower_bound, extra_operations::upper_bound, extra_operations::floor,
    extra_operations::predecessor, extra_operations::minimum, extra_operations::maximum,
    extra_operations::range_snapshot, extra_operations::find_many, extra_operations::clone>;

template <class Map>
[[nodiscard]] constexpr auto all_operations() {
  if constexpr (requires { typename Map::operations; }) {
    return decltype(joined(assays_own(), typename Map::operations()))();
  } else {
    return assays_own();
  }
}

}  // namespace detail

// What a map that is a template or not may be asked, if its handle can: Assay's own, and its own.
template <class Map>
using operations_of = decltype(detail::all_operations<Map>());

template <class Operation, class Handle, class K, class V>
concept offers_visit = requires(const in_numbers<Handle, K, V>& map, const question& asked,
                                any_visitor<K, V> visit) { Operation::visit(map, asked, visit); };
template <class Operation, class Handle, class K, class V>
concept offers_ask = requires(const in_numbers<Handle, K, V>& map, const question& asked) {
  Operation::ask(map, asked);
};
template <class Operation, class Handle, class K, class V>
concept offers_extra = offers_visit<Operation, Handle, K, V> || offers_ask<Operation, Handle, K, V>;

// Whether a handle offers any of them.
template <class Handle, class K, class V, class... Operations>
[[nodiscard]] constexpr bool offers_any(operations<Operations...> /*of*/) {
  return (offers_extra<Operations, Handle, K, V> || ...);
}

// What `act` says to the type of that of them which has this number, or false if none has.
template <class Act, class... Operations>
bool with_operation(workload::operation kind, operations<Operations...> /*among*/, const Act& act) {
  return ((detail::number_of<Operations>() == kind && act(std::type_identity<Operations>())) ||
          ...);
}

// Asks one of them, or visits by it. Says whether the map offers it.
template <class More, class Handle, class K, class V>
bool ask_extra(const in_numbers<Handle, K, V>& map, const question& asked, answer& answered) {
  return with_operation(asked.kind, More(),
                        [&]<class Operation>(std::type_identity<Operation> /*it*/) {
                          constexpr bool is_offered = offers_ask<Operation, Handle, K, V>;
                          if constexpr (is_offered) answered = Operation::ask(map, asked);
                          return is_offered;
                        });
}
template <class More, class Handle, class K, class V, class Visit>
bool visit_extra(const in_numbers<Handle, K, V>& map, const question& asked, const Visit& visit) {
  return with_operation(asked.kind, More(),
                        [&]<class Operation>(std::type_identity<Operation> /*it*/) {
                          constexpr bool is_offered = offers_visit<Operation, Handle, K, V>;
                          if constexpr (is_offered) Operation::visit(map, asked, visit);
                          return is_offered;
                        });
}

// How a trial performs the operations of one map, by number; null where the map does not offer one.
template <class Handle, class K, class V>
struct extra_calls {
  using call = operation_outcome (*)(const in_numbers<Handle, K, V>& of, const question& asked);
  std::array<call, workload::operation_kinds> by_number{};

  template <class... Operations>
  explicit extra_calls(operations<Operations...> /*of*/) {
    (add<Operations>(), ...);
  }

  template <class Operation>
  void add() {
    if constexpr (offers_ask<Operation, Handle, K, V>) {
      by_number.at(static_cast<std::size_t>(detail::number_of<Operation>())) =
          [](const in_numbers<Handle, K, V>& of, const question& asked) {
            return Operation::outcome_of(asked, Operation::ask(of, asked));
          };
    }
  }
};

// What the rig knows of one, whatever the map.
struct extra_facts {
  answer (*right)(elements& held, const question& asked);
  operation_outcome (*outcome_of)(const question& asked, const answer& answered);
  // Null: histories leave the operation out.
  std::vector<history_event> (*as_history)(const question& asked, const answer* answered);
  bool visits;  // meets several elements
};

// Some subject has registered this operation.
[[nodiscard]] const extra_facts& extra_facts_of(workload::operation kind);
// Throws std::logic_error if another type has that name: the rig would check the one by what is
// right for the other.
void register_operation(workload::operation kind, const extra_facts& facts);

// How the operation says an answer in the judge's words, or null where it does not.
template <class Operation, class Given>
[[nodiscard]] constexpr decltype(extra_facts::as_history) history_function() {
  if constexpr (requires(const Given* answered) { Operation::as_history(question(), answered); }) {
    return [](const question& asked, const answer* answered) -> std::vector<history_event> {
      return {Operation::as_history(asked,
                                    answered == nullptr ? nullptr : std::get_if<Given>(answered))};
    };
  } else {
    return nullptr;
  }
}

// Makes the operation known, and says which it is.
template <class Operation>
workload::operation registered() {
  using given = decltype(Operation::right(std::declval<elements&>(), question()));
  constexpr bool visits = std::is_same_v<given, std::vector<element>>;
  const extra_facts facts{
      .right = [](elements& held, const question& asked) -> answer {
        return Operation::right(held, asked);
      },
      .outcome_of =
          []([[maybe_unused]] const question& asked, [[maybe_unused]] const answer& answered) {
            if constexpr (visits) {
              return operation_outcome{};
            } else {
              return Operation::outcome_of(asked, std::get<given>(answered));
            }
          },
      .as_history = history_function<Operation, given>(),
      .visits = visits};
  const workload::operation kind = detail::number_of<Operation>();
  register_operation(kind, facts);
  return kind;
}

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_OPERATIONS_H_
