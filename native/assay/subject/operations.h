// What maps can be asked beyond insert, erase, find and what maps/concept.h describes: operations
// by name, each with how its answers are checked.
//
// Those below are offered by every map whose handle has a function of that name. A map may have
// others:
//
//     struct find_or_insert_operation {
//       static constexpr std::string_view name = "find_or_insert";
//
//       // Calls it, of any map that has it: `map.handle` is the thread's handle, and numbers stand
//       // for keys and values (in_numbers).
//       static std::optional<std::uint64_t> ask(auto& map, const assay::question& asked)
//         requires requires { map.handle.find_or_insert(map.key(1), map.value(1)); }
//       {
//         return map.number(
//             map.handle.find_or_insert(map.key(asked.key), map.value(asked.value)));
//       }
//       // What a std::map does and answers. The rig compares the map with it.
//       static std::optional<std::uint64_t> right(assay::elements& held,
//                                                 const assay::question& asked) {
//         const auto [at, added] = held.emplace(asked.key, asked.value);
//         return added ? std::nullopt : std::optional(at->second);
//       }
//       // What the answer says of what the map holds. A trial adds it up, and compares the sums
//       // with a walk at its end.
//       static assay::outcome came_to(const assay::question& asked,
//                                     const std::optional<std::uint64_t>& answered) {
//         if (!answered) return {.change = 1};
//         return {.succeeded = false, .seen = assay::element(asked.key, *answered)};
//       }
//     };
//
//     class my_map {
//      public:
//       using operations = assay::operations<find_or_insert_operation>;
//       ...
//
// With that, mixes may name it, trials measure and validate it, and the rig asks for it. It may
// also have
//
//     static constexpr bool rare = true;   // takes a microsecond at least: each is timed
//     static constexpr bool spans = true;  // is of the keys from `asked.key` to `asked.last`
//     // How histories tell of it, or as which operations; they leave out what cannot be told.
//     static assay::told_as told(const assay::question& asked,
//                                const std::optional<std::uint64_t>* answered);
//     static std::vector<assay::told_as> told(...);
//
// An answer is a bool, a number, or an optional number or element. An operation that meets several
// elements and changes nothing has, in place of `ask` and `came_to`,
//
//     static void visit(auto& map, const assay::question& asked, auto visit)
//
// which calls visit(key, value) with each: its answer is all of them. They are counted or summed,
// and checked. If the operation spans, they ascend from `asked.key` to `asked.last`, as those of a
// range; otherwise they are all that the map holds, as those of a snapshot.

#ifndef ASSAY_SUBJECT_OPERATIONS_H_
#define ASSAY_SUBJECT_OPERATIONS_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
#include "assay/subject/datum.h"
#include "assay/subject/tally.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/operations.h"

namespace assay {

// A thread's handle of a map from K to V, and numbers that stand for keys and values.
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

// What an answer says. Values seen are compared with what their keys must have.
struct outcome {
  bool succeeded = true;
  int change = 0;  // 1: the question's key and value are held now, -1: the key is no longer
  std::optional<element> seen{};
  bool wrong = false;  // no map may answer so
};

// An operation as the judge of histories knows it (rig/linearizability): as an `insert_or_assign`,
// an `update`, a `range`, ... that was asked and answered like this. An operation that cannot be
// told so is left out of histories. There is no answer if it has not returned.
struct told_as {
  std::string_view operation;
  question asked;
  answer answered{};
};

// What can be asked of a map, as types like that above.
template <class... Operations>
struct operations {};

namespace further {

// A question about all keys from one to another, which found one element or none.
inline told_as told_as_range(std::uint64_t first, std::uint64_t last,
                             const std::optional<element>* answered) {
  told_as told{.operation = "range", .asked = {.key = first, .last = last}};
  std::vector<element> met;
  if (answered != nullptr && *answered) met.push_back(**answered);
  told.answered = std::move(met);
  return told;
}
inline std::optional<element> element_at(const elements& held, elements::const_iterator at) {
  return at == held.end() ? std::nullopt : std::optional<element>(*at);
}

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
  static outcome came_to(const question& /*asked*/, bool answered) {
    return {.succeeded = answered};
  }
  // That the key is there says as much as an insert that did nothing.
  static told_as told(const question& asked, const bool* answered) {
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
  static outcome came_to(const question& /*asked*/, bool answered) {
    return {.succeeded = answered, .change = answered ? 1 : 0};
  }
  static told_as told(const question& asked, const bool* answered) {
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
  static outcome came_to(const question& asked, const std::optional<std::uint64_t>& answered) {
    if (!answered) return {.succeeded = false};
    return {.seen = element(asked.key, *answered)};
  }
  static told_as told(const question& asked, const std::optional<std::uint64_t>* answered) {
    return {.operation = name,
            .asked = asked,
            .answered = answered == nullptr ? std::nullopt : *answered};
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
  static outcome came_to(const question& asked, const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(),
            .seen = answered,
            .wrong = answered && answered->first < asked.key};
  }
  static told_as told(const question& asked, const std::optional<element>* answered) {
    const bool any = answered != nullptr && *answered;
    return told_as_range(asked.key, any ? (*answered)->first : UINT64_MAX, answered);
  }
};

// The element of the least key that is above the question's.
struct next {
  static constexpr std::string_view name = "next";
  static std::optional<element> ask(auto& map, const question& asked)
    requires requires { map.pair(map.handle.next(map.key(1))); }
  {
    return map.pair(map.handle.next(map.key(asked.key)));
  }
  static std::optional<element> right(const elements& held, const question& asked) {
    return element_at(held, held.upper_bound(asked.key));
  }
  static outcome came_to(const question& asked, const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(),
            .seen = answered,
            .wrong = answered && answered->first <= asked.key};
  }
  static told_as told(const question& asked, const std::optional<element>* answered) {
    if (asked.key == UINT64_MAX) return told_as_range(UINT64_MAX, 0, answered);  // of no key
    const bool any = answered != nullptr && *answered;
    return told_as_range(asked.key + 1, any ? (*answered)->first : UINT64_MAX, answered);
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
  static outcome came_to(const question& /*asked*/, const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(), .seen = answered};
  }
  static told_as told(const question& /*asked*/, const std::optional<element>* answered) {
    const bool any = answered != nullptr && *answered;
    return told_as_range(0, any ? (*answered)->first : UINT64_MAX, answered);
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
  static outcome came_to(const question& /*asked*/, const std::optional<element>& answered) {
    return {.succeeded = answered.has_value(), .seen = answered};
  }
  static told_as told(const question& /*asked*/, const std::optional<element>* answered) {
    const bool any = answered != nullptr && *answered;
    return told_as_range(any ? (*answered)->first : 0, UINT64_MAX, answered);
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
  static told_as told(const question& asked, const std::vector<element>* answered) {
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
  static std::vector<told_as> told(const question& asked, const std::vector<element>* answered) {
    std::vector<told_as> searches;
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
// gives a pointer that owns it, to what has for_each(visit). Its elements are visited, and it is
// destroyed: all of that is the operation.
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
  static told_as told(const question& asked, const std::vector<element>* answered) {
    return {.operation = "snapshot",
            .asked = asked,
            .answered = answered == nullptr ? std::vector<element>() : *answered};
  }
};

}  // namespace further

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

using assays_own =
    operations<further::contains, further::insert_or_assign, further::update, further::lower_bound,
               further::next, further::minimum, further::maximum, further::range_snapshot,
               further::find_many, further::clone>;

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
concept offers_further =
    offers_visit<Operation, Handle, K, V> || offers_ask<Operation, Handle, K, V>;

// Whether a handle offers any of them.
template <class Handle, class K, class V, class... Operations>
[[nodiscard]] constexpr bool offers_any(operations<Operations...> /*of*/) {
  return (offers_further<Operations, Handle, K, V> || ...);
}

// What `act` says to the type of that of them which has this number, or false if none has.
template <class Act, class... Operations>
bool with_operation(workload::operation kind, operations<Operations...> /*among*/, const Act& act) {
  return ((detail::number_of<Operations>() == kind && act(std::type_identity<Operations>())) ||
          ...);
}

// Asks one of them, or visits by it. Says whether the map offers it.
template <class More, class Handle, class K, class V>
bool ask_further(const in_numbers<Handle, K, V>& map, const question& asked, answer& answered) {
  return with_operation(asked.kind, More(),
                        [&]<class Operation>(std::type_identity<Operation> /*it*/) {
                          constexpr bool is_offered = offers_ask<Operation, Handle, K, V>;
                          if constexpr (is_offered) answered = Operation::ask(map, asked);
                          return is_offered;
                        });
}
template <class More, class Handle, class K, class V, class Visit>
bool visit_further(const in_numbers<Handle, K, V>& map, const question& asked, const Visit& visit) {
  return with_operation(asked.kind, More(),
                        [&]<class Operation>(std::type_identity<Operation> /*it*/) {
                          constexpr bool is_offered = offers_visit<Operation, Handle, K, V>;
                          if constexpr (is_offered) Operation::visit(map, asked, visit);
                          return is_offered;
                        });
}

// How a trial performs those of one map that it asks, by number; null where it offers none.
template <class Handle, class K, class V>
struct further_calls {
  using call = outcome (*)(const in_numbers<Handle, K, V>& of, const question& asked);
  std::array<call, workload::operation_kinds> by_number{};

  template <class... Operations>
  explicit further_calls(operations<Operations...> /*of*/) {
    (add<Operations>(), ...);
  }

  template <class Operation>
  void add() {
    if constexpr (offers_ask<Operation, Handle, K, V>) {
      by_number.at(static_cast<std::size_t>(detail::number_of<Operation>())) =
          [](const in_numbers<Handle, K, V>& of, const question& asked) {
            return Operation::came_to(asked, Operation::ask(of, asked));
          };
    }
  }
};

// What the rig knows of one, whatever the map.
struct further_facts {
  answer (*right)(elements& held, const question& asked);
  outcome (*came_to)(const question& asked, const answer& answered);
  std::vector<told_as> (*told)(const question& asked,
                               const answer* answered);  // null: not in histories
  bool visits;                                           // meets several elements
};

// Of an operation that some subject has registered.
[[nodiscard]] const further_facts& further_facts_of(workload::operation kind);
// Throws std::logic_error if another type has that name: the rig would check the one by what is
// right for the other.
void register_operation(workload::operation kind, const further_facts& facts);

// How the operation says an answer in the judge's words, or null where it does not.
template <class Operation, class Given>
[[nodiscard]] constexpr decltype(further_facts::told) told_by() {
  if constexpr (requires(const Given* answered) { Operation::told(question(), answered); }) {
    return [](const question& asked, const answer* answered) -> std::vector<told_as> {
      return {Operation::told(asked, answered == nullptr ? nullptr : std::get_if<Given>(answered))};
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
  const further_facts facts{
      .right = [](elements& held, const question& asked) -> answer {
        return Operation::right(held, asked);
      },
      .came_to =
          []([[maybe_unused]] const question& asked, [[maybe_unused]] const answer& answered) {
            if constexpr (visits) {
              return outcome{};
            } else {
              return Operation::came_to(asked, std::get<given>(answered));
            }
          },
      .told = told_by<Operation, given>(),
      .visits = visits};
  const workload::operation kind = detail::number_of<Operation>();
  register_operation(kind, facts);
  return kind;
}

}  // namespace assay

#endif  // ASSAY_SUBJECT_OPERATIONS_H_
