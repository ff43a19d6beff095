// How a map becomes a subject: one file, one line.
//
//     #include <optional>
//
//     #include "assay/subject/subject.h"
//
//     class my_map {
//      public:
//       class handle {
//        public:
//         bool insert(std::uint64_t key, std::uint64_t value);
//         bool erase(std::uint64_t key);
//         std::optional<std::uint64_t> find(std::uint64_t key);
//       };
//       handle attach();
//       template <class Visit>
//       void for_each(Visit&& visit);  // calls visit(key, value) for every element
//     };
//     static const assay::subject::map<my_map> registered{
//         "my_map", "what it is, in a few words"};
//
// A third text says how it frees what was erased, so that a comparison of maps that do so
// differently is noticed: "at once", "epochs", "hazard pointers", "RCU", "never", or other words;
// "nothing" if there is nothing to free.
//
// Linked with assay::trial, which brings main(), that is a whole trial program. Keys and values are
// std::uint64_t; a trial's keys are never 0 and always below 2^63. See assay/maps/concept.h for
// what each function promises, and for more that a handle may offer: what it offers can be asked
// for in the mix of a trial. A map may also have
//
//     static constexpr unsigned max_threads = 1;   // more threads are refused
//     static constexpr bool holds_nothing = true;  // neither prefilled nor validated
//     static constexpr bool lock_free = true;      // all operations are: the rig holds it to that
//     static constexpr bool size_is_atomic = false;   // otherwise the rig takes sizes and ranges
//     static constexpr bool range_is_atomic = false;  // for atomic
//     static constexpr bool linearizable = false;  // known not to be: the rig does not check
//     static constexpr bool takes_any_key = false;  // else the rig also uses 0 and 2^64-1
//     static constexpr std::array<std::uint64_t, 1> reserved_values{0};  // never stored
//     static constexpr unsigned value_bits = 63;   // 48 to 64: the other bits are the map's
//     static constexpr bool ordered = true;        // for_each ascends: the rig checks it
//     static constexpr bool leaks = true;          // on purpose: the rig does not check its memory
//     static constexpr bool one_at_a_time = true;  // a process cannot have two at once
//     std::optional<std::string> broken_invariant();  // at rest: what is wrong, if anything is
//     assay::shape shape();  // at rest: nodes, depths, bytes, see assay/maps/shape.h
//     explicit my_map(const assay::subject::map_hints&);  // else its default constructor is called
//     using operations = assay::subject::operations<mine>;  // of its own, see operations.h
//
// The same line enrols the map in the rig (assay/rig), which checks what a trial cannot see.
//
// If threads need nothing of their own inside a map, it has insert, erase and find itself, and no
// class `handle`: its attach() returns `assay::plain_handle(*this)`, see assay/maps/plain_handle.h.
//
// A map that is a template can be measured with other types of keys and values:
//
//     template <class K, class V>
//     class my_map { ... };
//     static const assay::subject::map_template<my_map> registered{
//         "my_map", "what it is, in a few words"};
//
// measures it with keys and values of std::uint64_t, std::uint32_t and std::string each;
// map_template<my_map, std::uint64_t, std::uint32_t> leaves out string keys.
//
// A multimap or a priority queue is a template over the types of keys and values too. It may also
// have max_threads, lock_free, broken_invariant, shape and the constructor with hints:
//
//     template <class K, class V>
//     class my_multimap { ... };                 // see assay/maps/bag_concept.h
//     static const assay::subject::bag<my_multimap> registered{
//         "my_multimap", "what it is, in a few words"};
//
// measures it with keys and values of both std::uint64_t and both std::uint32_t;
// bag<my_multimap, std::uint32_t> with the latter alone. The rig checks maps alone.

#ifndef ASSAY_SUBJECT_SUBJECT_H_
#define ASSAY_SUBJECT_SUBJECT_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/host/compiled_as.h"
#include "assay/maps/bag_concept.h"
#include "assay/subject/any_map.h"
#include "assay/subject/erased_bag.h"
#include "assay/subject/erased_map.h"
#include "assay/subject/operations.h"

#ifndef ASSAY_FEW_TYPES
#define ASSAY_FEW_TYPES 0
#endif

namespace assay::subject {

// A type of keys and one of values that a subject can hold, and how it is built for them.
struct held_types {
  type_spec::kind key;
  type_spec::kind value;
  std::function<std::unique_ptr<any_map>(const map_hints&)> build;
};

// What a program knows of one subject.
struct subject_entry {
  std::string name;
  std::string description;
  std::optional<unsigned> max_threads;
  bool holds_nothing;
  std::vector<held_types> types;
  std::vector<workload::operation> operations;  // that it offers, in their order
  host::compilation compiled{};                 // of the map and the loop that measures it
  std::vector<workload::operation> atomic{};    // those of them that take effect at one instant
                                                // and that histories can tell of
  bool lock_free = false;
  bool linearizable = true;                      // as far as is known
  bool leaks = false;                            // on purpose
  bool one_at_a_time = false;                    // a process cannot have two at once
  bool takes_any_key = true;                     // also 0, and those from 2^63 on
  std::vector<std::uint64_t> reserved_values{};  // numbers that it keeps for itself
  unsigned value_bits = 64;  // of values that are numbers; the rest is the map's
  std::string reclaims{};    // how it frees what was erased; empty: unknown
  subject::structure structure = subject::structure::map;

  // Throw bad_request if it cannot hold the types of key and value, with what it does hold.
  [[nodiscard]] const held_types& types_for(type_spec::kind key, type_spec::kind value) const;
  [[nodiscard]] std::unique_ptr<any_map> build(const map_hints& hints) const {
    return types_for(hints.key.type, hints.value.type).build(hints);
  }

  [[nodiscard]] bool reserves(std::uint64_t value) const {
    return std::ranges::find(reserved_values, value) != reserved_values.end();
  }
  // The greatest number that a value may be, or that may represent a string.
  [[nodiscard]] std::uint64_t greatest_value(type_spec::kind kind) const {
    if (kind == type_spec::kind::uint32) return UINT32_MAX;
    return kind == type_spec::kind::uint64 ? UINT64_MAX >> (64 - value_bits) : UINT64_MAX;
  }

  // Throws bad_request if it does not offer the operation, with what it does offer.
  void require(workload::operation asked) const;
};

// As requests and results name them.
[[nodiscard]] std::string to_string(type_spec::kind kind);
[[nodiscard]] std::string to_string(workload::operation operation);
[[nodiscard]] std::string to_string(structure structure);

// Every subject of this program, ordered by name.
[[nodiscard]] std::span<const subject_entry> registry();

// The subject with this name. Throws bad_request, which names the nearest one, if there is none.
[[nodiscard]] const subject_entry& find_subject(std::string_view name);

// Adds a subject. Throws std::logic_error if its name is taken or does not match [a-z][a-z0-9_]*,
// if its values have fewer than 48 bits or more than 64, or if it reserves all but a few.
void register_subject(subject_entry entry);

// `Erased` is an erased_map or an erased_bag of K to V.
template <class Erased, class K, class V>
[[nodiscard]] held_types held_by() {
  return {kind_of<K>, kind_of<V>, [](const map_hints& hints) -> std::unique_ptr<any_map> {
            return std::make_unique<Erased>(hints);
          }};
}
template <class Map, class K, class V>
[[nodiscard]] held_types held_as() {
  return held_by<erased_map<Map, K, V>, K, V>();
}

// Whether an operation of `Map` is one that takes effect at one instant.
template <class Map>
[[nodiscard]] constexpr bool is_atomic(workload::operation kind) {
  if constexpr (requires { Map::size_is_atomic; }) {
    if (kind == workload::operation::size) return Map::size_is_atomic;
  }
  if constexpr (requires { Map::range_is_atomic; }) {
    if (kind == workload::operation::range) return Map::range_is_atomic;
  }
  return kind != workload::operation::iterate;
}

// The operations of operations.h that a map of numbers offers.
template <class Handle, class... Operations>
void add_extra(subject_entry& entry, operations<Operations...> /*of*/) {
  const auto add = [&]<class Operation>(std::type_identity<Operation> /*of*/) {
    if constexpr (offers_extra<Operation, Handle, std::uint64_t, std::uint64_t>) {
      entry.operations.push_back(registered<Operation>());
      if (extra_facts_of(entry.operations.back()).as_history != nullptr) {
        entry.atomic.push_back(entry.operations.back());
      }
    }
  };
  (add(std::type_identity<Operations>()), ...);
}

// A subject that holds numbers alone.
template <class Map>
[[nodiscard]] subject_entry describe_subject(std::string_view name, std::string_view description) {
  using handle = decltype(std::declval<Map&>().attach());
  subject_entry entry{.name = std::string(name),
                      .description = std::string(description),
                      .max_threads = std::nullopt,
                      .holds_nothing = false,
                      .types = {held_as<Map, std::uint64_t, std::uint64_t>()},
                      .operations = {}};
  if constexpr (requires { Map::max_threads; }) entry.max_threads = Map::max_threads;
  if constexpr (requires { Map::holds_nothing; }) entry.holds_nothing = Map::holds_nothing;
  for (std::size_t i = 0; i < workload::named_operations; ++i) {
    const auto kind = static_cast<workload::operation>(i);
    if (!offers<handle, std::uint64_t, std::uint64_t>(kind)) continue;
    entry.operations.push_back(kind);
    if (is_atomic<Map>(kind)) entry.atomic.push_back(kind);
  }
  add_extra<handle>(entry, operations_of<Map>());
  if constexpr (requires { Map::lock_free; }) entry.lock_free = Map::lock_free;
  if constexpr (requires { Map::linearizable; }) entry.linearizable = Map::linearizable;
  if constexpr (requires { Map::leaks; }) entry.leaks = Map::leaks;
  if constexpr (requires { Map::one_at_a_time; }) entry.one_at_a_time = Map::one_at_a_time;
  if constexpr (requires { Map::takes_any_key; }) entry.takes_any_key = Map::takes_any_key;
  if constexpr (requires { Map::reserved_values; }) {
    entry.reserved_values.assign(Map::reserved_values.begin(), Map::reserved_values.end());
  }
  if constexpr (requires { Map::value_bits; }) entry.value_bits = Map::value_bits;
  entry.compiled = host::compiled_as();
  return entry;
}

template <class Bag, class Number>
[[nodiscard]] held_types held_in_bag() {
  return held_by<erased_bag<Bag, Number, Number>, Number, Number>();
}

// A multimap or a queue that holds keys and values both of any type among `Number` and `Numbers`.
template <template <class, class> class Bag, class Number, class... Numbers>
[[nodiscard]] subject_entry describe_bag(std::string_view name, std::string_view description) {
  using workload::operation;
  using bag = Bag<Number, Number>;
  constexpr bool is_queue = queue_handle<decltype(std::declval<bag&>().attach()), Number, Number>;
  subject_entry entry{
      .name = std::string(name),
      .description = std::string(description),
      .max_threads = std::nullopt,
      .holds_nothing = false,
      .types = {held_in_bag<bag, Number>(), held_in_bag<Bag<Numbers, Numbers>, Numbers>()...},
      .operations = {operation::insert, operation::erase}};
  if constexpr (!is_queue) entry.operations.push_back(operation::find);
  if constexpr (requires { bag::max_threads; }) entry.max_threads = bag::max_threads;
  if constexpr (requires { bag::lock_free; }) entry.lock_free = bag::lock_free;
  entry.structure = is_queue ? structure::queue : structure::multimap;
  entry.compiled = host::compiled_as();
  return entry;
}

// A subject that holds keys of any type among `Keys`, with values of any type. Numbers of 64 bits
// are always among them.
template <template <class, class> class Map, class... Keys>
[[nodiscard]] subject_entry describe_subject_template(std::string_view name,
                                                      std::string_view description) {
  auto entry = describe_subject<Map<std::uint64_t, std::uint64_t>>(name, description);
  entry.types.clear();
#if ASSAY_FEW_TYPES  // for the rig and sanitizers: keys and values of one type take a third as long
  (entry.types.push_back(held_as<Map<Keys, Keys>, Keys, Keys>()), ...);
#else
  (entry.types.insert(entry.types.end(), {held_as<Map<Keys, std::uint64_t>, Keys, std::uint64_t>(),
                                          held_as<Map<Keys, std::uint32_t>, Keys, std::uint32_t>(),
                                          held_as<Map<Keys, std::string>, Keys, std::string>()}),
   ...);
#endif
  return entry;
}

// With how it reclaims: as was said, or as follows from a map that leaks.
[[nodiscard]] inline subject_entry reclaiming(subject_entry entry, std::string_view reclaims) {
  entry.reclaims = reclaims.empty() && entry.leaks ? "never" : reclaims;
  return entry;
}

// Registers `Map` when constructed, which is meant to happen before main().
template <class Map>
class map {
 public:
  map(std::string_view name, std::string_view description, std::string_view reclaims = {}) {
    register_subject(reclaiming(describe_subject<Map>(name, description), reclaims));
  }
};

// The same for a template over the types of keys and values; without `Keys`, for all.
template <template <class, class> class Map, class... Keys>
class map_template {
 public:
  map_template(std::string_view name, std::string_view description,
               std::string_view reclaims = {}) {
    if constexpr (sizeof...(Keys) == 0) {
      register_subject(
          reclaiming(describe_subject_template<Map, std::uint64_t, std::uint32_t, std::string>(
                         name, description),
                     reclaims));
    } else {
      register_subject(
          reclaiming(describe_subject_template<Map, Keys...>(name, description), reclaims));
    }
  }
};

// The same for a multimap or a queue; without `Numbers`, for numbers of 64 and of 32 bits.
template <template <class, class> class Bag, class... Numbers>
class bag {
 public:
  bag(std::string_view name, std::string_view description, std::string_view reclaims = {}) {
    if constexpr (sizeof...(Numbers) == 0) {
      register_subject(
          reclaiming(describe_bag<Bag, std::uint64_t, std::uint32_t>(name, description), reclaims));
    } else {
      register_subject(reclaiming(describe_bag<Bag, Numbers...>(name, description), reclaims));
    }
  }
};

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_SUBJECT_H_
