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
//     // `on_one_key` below has this, `right` and `outcome_of` for what replaces, adds or removes
//     // under one key.
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
  int change = 0;  // 1: the question's key and value are held now, -1: the key is not; -2: nor when
                   // it was added meanwhile, and so on
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

// `ask` of an operation that is one call of `map.handle`, if that answers so.
#define ASSAY_ASK(type, call)                                        \
  static type ask(auto& map, [[maybe_unused]] const question& asked) \
    requires requires {                                              \
      { call } -> std::same_as<type>;                                \
    }                                                                \
  {                                                                  \
    return call;                                                     \
  }

// What is under a key, if anything.
using held_value = std::optional<std::uint64_t>;

// An operation on one key whose answer is what was there before. `Self::leaves(before, asked)` is
// what is there afterwards: the same, the question's value, or nothing. Until it has returned, the
// judge knows it as `Self::unreturned`.
template <class Self>
struct on_one_key {  // NOLINT(bugprone-crtp-constructor-accessibility)
  static held_value right(elements& held, const question& asked) {
    const auto at = held.find(asked.key);
    const held_value before = at == held.end() ? std::nullopt : held_value(at->second);
    if (const held_value after = Self::leaves(before, asked)) {
      held.insert_or_assign(asked.key, *after);
    } else {
      held.erase(asked.key);
    }
    return before;
  }
  static operation_outcome outcome_of(const question& asked, const held_value& before) {
    const held_value after = Self::leaves(before, asked);
    operation_outcome came{.succeeded = before || after,
                           .change = (after ? 1 : 0) - (before ? 1 : 0)};
    if (before) came.seen = element(asked.key, *before);
    return came;
  }
  static history_event as_history(const question& asked, const held_value* before) {
    if (before == nullptr) return {.operation = Self::unreturned, .asked = asked};
    const held_value after = Self::leaves(*before, asked);
    if (after == *before) return {.operation = "find", .asked = asked, .answered = *before};
    if (!*before) return {.operation = "insert", .asked = asked, .answered = true};
    return {.operation = after ? "update" : "extract", .asked = asked, .answered = *before};
  }
};

// A function of a value of the map, as maps are given it.
template <class Map, class Answer = typename std::remove_reference_t<Map>::value_type>
using value_function = Answer (*)(const typename std::remove_reference_t<Map>::value_type& value);
// A function of an element.
template <class Map>
using element_function = void (*)(const typename std::remove_reference_t<Map>::key_type& key,
                                  const typename std::remove_reference_t<Map>::value_type& value);

// A find that is given the value where it is: visit(key, f) calls f(key, value) if the key is
// there.
struct visit : on_one_key<visit> {
  static constexpr std::string_view name = "visit";
  static constexpr std::string_view unreturned = "find";
  static held_value ask(auto& map, const question& asked)
    requires requires(element_function<decltype(map)> seen) {
      { map.handle.visit(map.key(1), seen) } -> std::same_as<bool>;
    }
  {
    held_value seen;
    map.handle.visit(map.key(asked.key),
                     [&](const auto& /*key*/, const auto& value) { seen = map.number(value); });
    return seen;
  }
  static held_value leaves(const held_value& before, const question& /*asked*/) { return before; }
};

// The handle has update(key, function): whether the key was there and its value v is now
// function(v). The answer is v.
struct update : on_one_key<update> {
  static constexpr std::string_view name = "update";
  static constexpr std::string_view unreturned = "update";
  static held_value ask(auto& map, const question& asked)
    requires requires(value_function<decltype(map)> function) {
      { map.handle.update(map.key(1), function) } -> std::same_as<bool>;
    }
  {
    using V = typename std::remove_reference_t<decltype(map)>::value_type;
    held_value replaced;
    const bool was_there = map.handle.update(map.key(asked.key), [&](const V& held) -> V {
      replaced = map.number(held);
      return map.value(asked.value);
    });
    return was_there ? replaced : std::nullopt;
  }
  static held_value leaves(const held_value& before, const question& asked) {
    return before ? held_value(asked.value) : before;
  }
};

// The handle has upsert(key, make, change): adds the value make(), or replaces the value v that is
// there by change(v). Both are the question's value here, and the answer is v.
struct upsert : on_one_key<upsert> {
  static constexpr std::string_view name = "upsert";
  static constexpr std::string_view unreturned = "insert_or_assign";
  static held_value ask(auto& map, const question& asked)
    requires requires(typename std::remove_reference_t<decltype(map)>::value_type (*make)(),
                      value_function<decltype(map)> change) {
      { map.handle.upsert(map.key(1), make, change) } -> std::same_as<bool>;
    }
  {
    using V = typename std::remove_reference_t<decltype(map)>::value_type;
    held_value replaced;
    const auto make = [&]() -> V { return map.value(asked.value); };
    const auto change = [&](const V& held) -> V {
      replaced = map.number(held);
      return map.value(asked.value);
    };
    const bool is_added = map.handle.upsert(map.key(asked.key), make, change);
    return is_added ? std::nullopt : replaced;
  }
  static held_value leaves(const held_value& /*before*/, const question& asked) {
    return asked.value;
  }
};

// The value that another one replaced, or nothing if the key is new.
struct exchange : on_one_key<exchange> {
  static constexpr std::string_view name = "exchange";
  static constexpr std::string_view unreturned = "insert_or_assign";
  ASSAY_ASK(held_value, map.number(map.handle.exchange(map.key(asked.key), map.value(asked.value))))
  static held_value leaves(const held_value& /*before*/, const question& asked) {
    return asked.value;
  }
};

// The value of the key, which is removed.
struct extract : on_one_key<extract> {
  static constexpr std::string_view name = "extract";
  static constexpr std::string_view unreturned = "erase";
  ASSAY_ASK(held_value, map.number(map.handle.extract(map.key(asked.key))))
  static held_value leaves(const held_value& /*before*/, const question& /*asked*/) { return {}; }
};

// The handle has erase_if(key, p): removes the key if p holds for its value, and says whether it
// did. Here p holds for every other number, and the answer is the last value that p was asked
// about, if the key was there: that which was removed, or which stays. An answer that contradicts p
// becomes a value that nobody stored.
struct erase_if : on_one_key<erase_if> {
  static constexpr std::string_view name = "erase_if";
  static constexpr std::string_view unreturned = "erase";
  static held_value ask(auto& map, const question& asked)
    requires requires(value_function<decltype(map), bool> p) {
      { map.handle.erase_if(map.key(1), p) } -> std::same_as<bool>;
    }
  {
    held_value last;
    const bool is_removed = map.handle.erase_if(map.key(asked.key), [&](const auto& value) {
      last = map.number(value);
      return is_doomed(*last, asked);
    });
    const bool was_doomed = last && is_doomed(*last, asked);
    if (!is_removed) return was_doomed ? std::nullopt : last;
    return was_doomed ? last : ~last.value_or(asked.value);
  }
  static held_value leaves(const held_value& before, const question& asked) {
    return before && is_doomed(*before, asked) ? std::nullopt : before;
  }

 private:
  static bool is_doomed(std::uint64_t value, const question& asked) {
    return ((value ^ asked.value) & 1) != 0;
  }
};

// The value that the key has then, and whether it was added. The answer is the value that was
// there; if another one than the question's was added, it is that one.
struct get_or_emplace : on_one_key<get_or_emplace> {
  static constexpr std::string_view name = "get_or_emplace";
  static constexpr std::string_view unreturned = "insert";
  template <class Map, class V = typename Map::value_type>
  static held_value ask(Map& map, const question& asked)
    requires requires {
      { map.handle.get_or_emplace(map.key(1), map.value(1)) } -> std::same_as<std::pair<V, bool>>;
    }
  {
    const auto [value, is_added] =
        map.handle.get_or_emplace(map.key(asked.key), map.value(asked.value));
    return found(map, asked, is_added, map.number(value));
  }
  // What was there, of an operation that met `value` under the key.
  static held_value found(auto& map, const question& asked, bool is_added, std::uint64_t value) {
    return is_added && value == map.number(map.value(asked.value)) ? std::nullopt
                                                                   : held_value(value);
  }
  static held_value leaves(const held_value& before, const question& asked) {
    return before ? before : asked.value;
  }
};

// The same, by emplace_and_visit(key, f, value), which calls f(key, value) with what is there then.
struct emplace_and_visit : on_one_key<emplace_and_visit> {
  static constexpr std::string_view name = "emplace_and_visit";
  static constexpr std::string_view unreturned = "insert";
  static held_value ask(auto& map, const question& asked)
    requires requires(element_function<decltype(map)> seen) {
      { map.handle.emplace_and_visit(map.key(1), seen, map.value(1)) } -> std::same_as<bool>;
    }
  {
    std::uint64_t met = ~asked.value;  // nobody stored
    const bool is_added = map.handle.emplace_and_visit(
        map.key(asked.key),
        [&](const auto& /*key*/, const auto& value) { met = map.number(value); },
        map.value(asked.value));
    return get_or_emplace::found(map, asked, is_added, met);
  }
  static held_value leaves(const held_value& before, const question& asked) {
    return get_or_emplace::leaves(before, asked);
  }
};

struct contains {
  static constexpr std::string_view name = "contains";
  ASSAY_ASK(bool, map.handle.contains(map.key(asked.key)))
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
    return {.operation = "find", .asked = asked, .answered = held_value()};
  }
};

// An operation that answers whether the key is new, by the name of it that the judge knows.
template <class Self>
struct adding {  // NOLINT(bugprone-crtp-constructor-accessibility)
  static operation_outcome outcome_of(const question& /*asked*/, bool is_added) {
    return {.succeeded = is_added, .change = is_added ? 1 : 0};
  }
  static history_event as_history(const question& asked, const bool* is_added) {
    return {
        .operation = Self::judged_as, .asked = asked, .answered = is_added != nullptr && *is_added};
  }
};
struct insert_or_assign : adding<insert_or_assign> {
  static constexpr std::string_view name = "insert_or_assign";
  static constexpr std::string_view judged_as = name;
  ASSAY_ASK(bool, map.handle.insert_or_assign(map.key(asked.key), map.value(asked.value)))
  static bool right(elements& held, const question& asked) {
    return held.insert_or_assign(asked.key, asked.value).second;
  }
};
struct try_emplace : adding<try_emplace> {
  static constexpr std::string_view name = "try_emplace";
  static constexpr std::string_view judged_as = "insert";
  ASSAY_ASK(bool, map.handle.try_emplace(map.key(asked.key), map.value(asked.value)))
  static bool right(elements& held, const question& asked) {
    return held.try_emplace(asked.key, asked.value).second;
  }
};

struct emplace : adding<emplace> {
  static constexpr std::string_view name = "emplace";
  static constexpr std::string_view judged_as = "insert";
  ASSAY_ASK(bool, map.handle.emplace(map.key(asked.key), map.value(asked.value)))
  static bool right(elements& held, const question& asked) {
    return held.emplace(asked.key, asked.value).second;
  }
};

// Whether the map holds nothing.
struct empty {
  static constexpr std::string_view name = "empty";
  ASSAY_ASK(bool, map.handle.empty())
  static bool right(const elements& held, const question& /*asked*/) { return held.empty(); }
  static operation_outcome outcome_of(const question& /*asked*/, bool answered) {
    return {.succeeded = answered};
  }
  static history_event as_history(const question& asked, const bool* answered) {
    return {.operation = name, .asked = asked, .answered = answered != nullptr && *answered};
  }
};

// Removes the keys from the question's to its last, one after the other, and says how many those
// were. Of more keys than one it does not say which: trials ask for one, as their sums need to
// know.
struct erase_range {
  static constexpr std::string_view name = "erase_range";
  ASSAY_ASK(std::uint64_t, map.handle.erase_range(map.key(asked.key), map.last_key(asked.last)))
  static std::uint64_t right(elements& held, const question& asked) {
    if (asked.last < asked.key) return 0;
    const std::size_t before = held.size();
    held.erase(held.lower_bound(asked.key), held.upper_bound(asked.last));
    return before - held.size();
  }
  static operation_outcome outcome_of(const question& /*asked*/, std::uint64_t removed) {
    return {.succeeded = removed > 0, .change = -static_cast<int>(removed)};
  }
  static history_event as_history(const question& asked, const std::uint64_t* removed) {
    return {.operation = name, .asked = asked, .answered = removed == nullptr ? 0 : *removed};
  }
};

// A search for the first or the last element with a key from `first` to `last` of
// `Self::keys(asked)`.
template <class Self, bool First>
struct search_among {  // NOLINT(bugprone-crtp-constructor-accessibility)
  struct bounds {
    std::uint64_t first;
    std::uint64_t last;
  };
  static constexpr bounds no_keys{UINT64_MAX, 0};

  static std::optional<element> right(const elements& held, const question& asked) {
    const bounds keys = Self::keys(asked);
    if (keys.last < keys.first) return std::nullopt;
    const auto begin = held.lower_bound(keys.first);
    const auto end = held.upper_bound(keys.last);
    if (begin == end) return std::nullopt;
    return *(First ? begin : std::prev(end));
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<element>& answered) {
    const bounds keys = Self::keys(asked);
    return {.succeeded = answered.has_value(),
            .seen = answered,
            .wrong = answered && (answered->first < keys.first || keys.last < answered->first)};
  }
  // As a range which meets that element alone, up to it or from it on.
  static history_event as_history(const question& asked, const std::optional<element>* answered) {
    bounds keys = Self::keys(asked);
    std::vector<element> met;
    if (answered != nullptr && *answered) met.push_back(**answered);
    if (!met.empty() && keys.first <= keys.last) {
      (First ? keys.last : keys.first) = met.front().first;
    }
    return {.operation = "range",
            .asked = {.key = keys.first, .last = keys.last},
            .answered = std::move(met)};
  }
};

// The element of the least key that is not below the question's.
struct lower_bound : search_among<lower_bound, true> {
  static constexpr std::string_view name = "lower_bound";
  ASSAY_ASK(std::optional<element>, map.pair(map.handle.lower_bound(map.key(asked.key))))
  static bounds keys(const question& asked) { return {asked.key, UINT64_MAX}; }
};
// The element of the least key that is above the question's.
struct upper_bound : search_among<upper_bound, true> {
  static constexpr std::string_view name = "upper_bound";
  ASSAY_ASK(std::optional<element>, map.pair(map.handle.upper_bound(map.key(asked.key))))
  static bounds keys(const question& asked) {
    return asked.key == UINT64_MAX ? no_keys : bounds{asked.key + 1, UINT64_MAX};
  }
};
// The element of the greatest key that is at most the question's.
struct floor : search_among<floor, false> {
  static constexpr std::string_view name = "floor";
  ASSAY_ASK(std::optional<element>, map.pair(map.handle.floor(map.key(asked.key))))
  static bounds keys(const question& asked) { return {0, asked.key}; }
};
// The element of the greatest key that is below the question's.
struct predecessor : search_among<predecessor, false> {
  static constexpr std::string_view name = "predecessor";
  ASSAY_ASK(std::optional<element>, map.pair(map.handle.predecessor(map.key(asked.key))))
  static bounds keys(const question& asked) {
    return asked.key == 0 ? no_keys : bounds{0, asked.key - 1};
  }
};
// The elements of the least key and of the greatest.
struct minimum : search_among<minimum, true> {
  static constexpr std::string_view name = "minimum";
  ASSAY_ASK(std::optional<element>, map.pair(map.handle.minimum()))
  static bounds keys(const question& /*asked*/) { return {0, UINT64_MAX}; }
};
struct maximum : search_among<maximum, false> {
  static constexpr std::string_view name = "maximum";
  ASSAY_ASK(std::optional<element>, map.pair(map.handle.maximum()))
  static bounds keys(const question& /*asked*/) { return {0, UINT64_MAX}; }
};

#undef ASSAY_ASK

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

// A function of an element that says whether a visit goes on.
template <class Map>
using going_on = bool (*)(const typename std::remove_reference_t<Map>::key_type& key,
                          const typename std::remove_reference_t<Map>::value_type& value);

// The elements from one key to another, each as it is met, by a visit that would go on to the
// greatest key and is ended at the first one beyond. The handle has visit_range(first, last, f),
// which ends when f(key, value) is false, and says whether it came to its end.
struct visit_range {
  static constexpr std::string_view name = "visit_range";
  static constexpr bool rare = true;
  static constexpr bool spans = true;

  static void visit(auto& map, const question& asked, auto visit)
    requires requires(going_on<decltype(map)> f) {
      { map.handle.visit_range(map.key(1), map.last_key(1), f) } -> std::same_as<bool>;
    }
  {
    until_beyond(map, asked, visit, [&](auto each) {
      return map.handle.visit_range(map.key(asked.key), map.last_key(UINT64_MAX), each);
    });
  }
  static std::vector<element> right(const elements& held, const question& asked) {
    return range_snapshot::right(held, asked);
  }

  // Visits by `visit_all`, and ends it at the first key beyond the question's last. If it goes on,
  // what it meets is visited, too, so that checks find it. If its answer is wrong, a value that
  // nobody stored is visited.
  template <class Map>
  static void until_beyond(Map& map, const question& asked, auto visit, auto visit_all) {
    using types = std::remove_reference_t<Map>;
    using K = typename types::key_type;
    // A copy: the next key is encoded in the same bytes.
    const K last(map.last_key(asked.last));  // NOLINT(performance-unnecessary-copy-initialization)
    bool is_over = false;
    const bool came_to_end = visit_all([&](const K& key, const typename types::value_type& value) {
      if (is_over || !(last < key)) visit(key, value);
      is_over = is_over || last < key;
      return !is_over;
    });
    if (came_to_end == is_over) visit(last, map.value(~asked.value));
  }
};
// The same elements, by a visit of all that passes over those before.
struct visit_all {
  static constexpr std::string_view name = "visit_all";
  static constexpr bool rare = true;
  static constexpr bool spans = true;

  static void visit(auto& map, const question& asked, auto visit)
    requires requires(going_on<decltype(map)> f) {
      { map.handle.visit_all(f) } -> std::same_as<bool>;
    }
  {
    using types = std::remove_reference_t<decltype(map)>;
    // A copy: the next key is encoded in the same bytes.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const typename types::key_type first(map.key(asked.key));
    const auto from_first = [&](const auto& key, const auto& value) {
      if (!(key < first)) visit(key, value);
    };
    visit_range::until_beyond(map, asked, from_first,
                              [&](auto each) { return map.handle.visit_all(each); });
  }
  static std::vector<element> right(const elements& held, const question& asked) {
    return range_snapshot::right(held, asked);
  }
};

// The elements from one key to another, or all, from the last to the first, each as it is met. They
// are handed on in ascending order, as those of all that spans.
struct visit_range_descending {
  static constexpr std::string_view name = "visit_range_descending";
  static constexpr bool rare = true;
  static constexpr bool spans = true;

  static void visit(auto& map, const question& asked, auto visit)
    requires requires { map.handle.visit_range_descending(map.key(1), map.last_key(1), visit); }
  {
    reversed<decltype(map)>(visit, [&](auto each) {
      map.handle.visit_range_descending(map.key(asked.key), map.last_key(asked.last), each);
    });
  }
  static std::vector<element> right(const elements& held, const question& asked) {
    return range_snapshot::right(held, asked);
  }

  // Calls visit(key, value) with what `visit_all` meets, in the opposite order.
  template <class Map>
  static void reversed(auto visit, auto visit_all) {
    using map = std::remove_reference_t<Map>;
    std::vector<std::pair<typename map::key_type, typename map::value_type>> met;
    visit_all([&](const auto& key, const auto& value) { met.emplace_back(key, value); });
    for (auto next = met.rbegin(); next != met.rend(); ++next) visit(next->first, next->second);
  }
};
struct visit_all_descending {
  static constexpr std::string_view name = "visit_all_descending";
  static constexpr bool rare = true;

  static void visit(auto& map, const question& /*asked*/, auto visit)
    requires requires { map.handle.visit_all_descending(visit); }
  {
    visit_range_descending::reversed<decltype(map)>(
        visit, [&](auto each) { map.handle.visit_all_descending(each); });
  }
  static std::vector<element> right(const elements& held, const question& /*asked*/) {
    return {held.begin(), held.end()};
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
    extra_operations::try_emplace, extra_operations::emplace, extra_operations::empty,
    extra_operations::get_or_emplace, extra_operations::emplace_and_visit, extra_operations::update,
    extra_operations::upsert, extra_operations::exchange, extra_operations::extract,
    extra_operations::erase_if, extra_operations::erase_range, extra_operations::lower_bound,
    extra_operations::upper_bound, extra_operations::floor, extra_operations::predecessor,
    extra_operations::minimum, extra_operations::maximum, extra_operations::range_snapshot,
    extra_operations::visit_range, extra_operations::visit_all,
    extra_operations::visit_range_descending, extra_operations::visit_all_descending,
    extra_operations::find_many, extra_operations::clone>;

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
