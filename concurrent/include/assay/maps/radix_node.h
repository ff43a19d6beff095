// The nodes of a radix_map.h: their layout in memory. bt_node.h says how a node is read while
// others change it, which elements are words, and which are in boxes or records.
//
// A leaf is one of two kinds of the same size:
//
//     of elements  as the leaf of a bt_map: up to 44 elements in no order, found by a byte of their
//                  keys' hashes
//     direct       up to 64 neighbouring integers, values alone: the last 6 bits of a key are the
//                  place of its value
//
// An inner node looks at one digit of the key. Its children have runs of digits. It is
//
//     narrow   up to 16 children, found by their first digits
//     middle   an edge for every 16 digits, or every 4 bytes, neighbouring ones of which may lead
//              to the same child: only if all children begin at such a digit
//     wide     an edge for every 4 digits, or every byte
//     widest   an edge for each of the last digits of integers
//
// The last three are larger, and faster: the place of the edge is known before the node arrives.
// (The four kinds of nodes of Leis et al. 2013, section III.C, have a child for each digit alone.
// Children that take runs of digits are those of the B-tries of Askitis and Zobel 2009.)

#ifndef ASSAY_MAPS_RADIX_NODE_H_
#define ASSAY_MAPS_RADIX_NODE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/instruction_set.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"
#include "assay/maps/radix_key.h"
#include "assay/maps/vector_search.h"

namespace assay::radix::inline ASSAY_ABI {

using bt::line;

// The types that one map is made of.
template <class K, class V, class Policies>
struct nodes {
  using elements_of = bt::nodes<K, V, Policies>;
  using compare = typename Policies::compare;
  using node_lock = typename elements_of::node_lock;
  using words = typename elements_of::words;
  using key_word = typename elements_of::key_word;
  using value_word = typename elements_of::value_word;
  using entry_type = typename elements_of::entry_type;
  using keys = digits<K>;
  using label = typename keys::label;

  static constexpr std::size_t leaf_capacity = Policies::leaf_capacity;
  static constexpr bool has_fingerprints = elements_of::has_fingerprints;
  static constexpr bool has_vectors = false;  // inner nodes are searched in other ways
  static constexpr bool has_sortable_keys = elements_of::has_vectors;
  static constexpr bool has_homes = elements_of::has_homes;
  static constexpr std::size_t per_line = elements_of::per_line;
  static constexpr std::size_t homes = elements_of::homes;

  static constexpr bool has_direct = std::is_integral_v<K>;
  static constexpr std::size_t direct_places = 64;
  static constexpr std::size_t most_in_leaf = has_direct ? direct_places : leaf_capacity;

  // The address of a node, and what it is.
  using edge = std::uintptr_t;
  static constexpr edge leaf_mark = 1;
  static constexpr edge direct_mark = 2;  // of leaves
  // One of these marks an inner node that is not narrow.
  static constexpr edge middle_mark = 2;
  static constexpr edge wide_mark = 4;
  static constexpr edge widest_mark = 6;
  static constexpr edge kind_marks = 6;
  // An edge to an inner node has the last 3 bits of the node's depth here.
  static constexpr unsigned depth_at = 3;
  static constexpr edge marks = line - 1;

  struct alignas(line) leaf;
  struct alignas(line) inner;
  struct narrow;
  template <unsigned Shared>
  struct by_digit;
  using middle = by_digit<4>;
  using wide = by_digit<2>;
  using widest = by_digit<0>;

  static bool is_leaf(edge to) { return (to & leaf_mark) != 0; }
  static bool is_narrow(edge to) { return (to & kind_marks) == 0; }
  static bool is_direct(edge to) { return (to & direct_mark) != 0; }
  // An edge is what edge_to() made of a node's address.
  static leaf* leaf_at(edge to) {
    return reinterpret_cast<leaf*>(to & ~marks);  // NOLINT(performance-no-int-to-ptr)
  }
  static inner* inner_at(edge to) {
    return reinterpret_cast<inner*>(to & ~marks);  // NOLINT(performance-no-int-to-ptr)
  }
  static edge edge_to(const leaf* node) {
    return reinterpret_cast<edge>(node) | leaf_mark | (node->is_direct() ? direct_mark : 0);
  }
  static edge edge_to(const narrow* node) { return edge_to_inner(node); }
  static edge edge_to(const middle* node) { return edge_to_inner(node) | middle_mark; }
  static edge edge_to(const wide* node) { return edge_to_inner(node) | wide_mark; }
  static edge edge_to(const widest* node) { return edge_to_inner(node) | widest_mark; }
  [[nodiscard]] static unsigned depth_of(edge to) { return (to & marks) >> depth_at; }

  // The edge of a node that is not narrow for a digit that is one.
  [[nodiscard]] static const atomic<edge>& edge_by_digit(edge at, const inner& node, int digit) {
    const auto* const children = reinterpret_cast<const atomic<edge>*>(&node + 1);
    return children[static_cast<unsigned>(digit) >> (6U - (at & kind_marks))];
  }

  // The answer of f(node) about an inner node, as what it is.
  template <class F>
  [[gnu::always_inline]] static decltype(auto) as_it_is(edge to, const F& f) {
    const edge kind = to & kind_marks;
    if (kind == wide_mark) return f(static_cast<wide&>(*inner_at(to)));
    if (kind == middle_mark) return f(static_cast<middle&>(*inner_at(to)));
    if (kind == widest_mark) return f(static_cast<widest&>(*inner_at(to)));
    return f(static_cast<narrow&>(*inner_at(to)));
  }

 private:
  static edge edge_to_inner(const inner* node) {
    return reinterpret_cast<edge>(node) | (node->keys_begin.depth() % 8) << depth_at;
  }
};

// Padded on purpose: elements begin a line.
template <class K, class V, class Policies>
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct alignas(line) nodes<K, V, Policies>::leaf {
 private:
  using element = typename elements_of::element;
  static constexpr std::uint64_t all =
      leaf_capacity == 64 ? ~UINT64_C(0) : (UINT64_C(1) << (leaf_capacity % 64U)) - 1U;
  static constexpr std::uint8_t of_elements = 0;
  static constexpr std::uint8_t direct = 1;

  // A direct leaf keeps its first key here, another leaf a byte of each key's hash.
  union marks {
    marks() : fingerprints{} {}
    std::array<atomic<std::uint8_t>, leaf_capacity> fingerprints;
    std::array<std::uint32_t, 2>
        first;  // its halves: a number of 64 bits would not fit in the line
  };
  // A direct leaf keeps values here, another leaf elements.
  union contents {
    contents() : elements{} {}
    std::array<element, leaf_capacity> elements;
    std::array<bt::slot<value_word>, has_direct ? direct_places : 1> values;
  };

 public:
  leaf() = default;
  // A direct one for the 64 integers from `first` on.
  explicit leaf(std::uint64_t first) : kind_(direct) {
    marks_.first = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first >> 32U)};
    std::construct_at(&contents_.values);
  }

  node_lock lock;
  atomic<std::uint64_t> used{0};  // bit i: place i holds an element

  // Neither changes while others know the leaf.
  [[nodiscard]] bool is_direct() const { return has_direct && kind_ == direct; }
  [[nodiscard]] bool is_in_order() const { return is_direct(); }  // as in bt_node.h
  [[nodiscard]] std::uint64_t first() const {
    return marks_.first[0] | std::uint64_t{marks_.first[1]} << 32U;
  }

  static std::uint8_t fingerprint(std::uint64_t hash) { return static_cast<std::uint8_t>(hash); }
  static std::size_t home(std::uint64_t hash) { return ((hash >> 32U) * homes) >> 32U; }
  [[nodiscard]] const auto& bytes() const { return marks_.fingerprints; }

  // (2) of bt_node.h. By a holder of the lock, or for its answer to be validated.
  [[nodiscard]] std::uint64_t places() const { return used.load(memory_order_acquire); }
  [[nodiscard]] entry_type at(std::size_t place) const {
    if constexpr (has_direct) {
      if (is_direct()) return {keys::key(first() + place), contents_.values[place].load()};
    }
    return {contents_.elements[place].key.load(), contents_.elements[place].value.load()};
  }
  [[nodiscard]] key_word key_at(std::size_t place) const {
    return contents_.elements[place].key.load();
  }
  // The lines that a search needs, beside the first.
  [[nodiscard]] const void* line_of(std::uint64_t hash) const {
    return &contents_.elements[home(hash) * per_line];
  }
  [[nodiscard]] const void* line_of_direct(std::uint64_t key) const {
    return &contents_.values[key % contents_.values.size()];
  }
  // Whether a key that is not there can be added.
  [[nodiscard]] bool has_room(std::uint64_t places, parameter<K> key) const {
    if constexpr (has_direct) {
      if (is_direct()) return keys::seek(key) - first() < direct_places;
    }
    static_cast<void>(key);
    return places != all;
  }

  // By the holder of the lock, or while nobody else knows the node. There is room, and the key is
  // not there.
  void put_new(std::uint64_t places, const entry_type& what, std::uint64_t hash) {
    if constexpr (has_direct) {
      if (is_direct()) {
        const auto place = static_cast<std::size_t>(keys::seek(what.key) - first());
        contents_.values[place].store(what.value);
        take(place);
        return;
      }
    }
    const std::size_t place = free_place(places, hash);
    contents_.elements[place].key.store(what.key);
    contents_.elements[place].value.store(what.value);
    if constexpr (has_fingerprints) {
      marks_.fingerprints[place].store(fingerprint(hash), memory_order_relaxed);
    }
    take(place);
  }
  void put(const entry_type& what) {
    put_new(used.load(memory_order_relaxed), what, hash_of_word(what.key));
  }
  // In the place of an element with the same key.
  void replace(std::size_t place, const entry_type& what) {
    if constexpr (has_direct) {
      if (is_direct()) {
        contents_.values[place].store(what.value);
        return;
      }
    }
    contents_.elements[place].key.store(what.key);
    contents_.elements[place].value.store(what.value);
  }
  void remove(std::size_t place) {
    // (2) of bt_node.h
    used.store(used.load(memory_order_relaxed) & ~(UINT64_C(1) << place), memory_order_release);
  }

  [[nodiscard]] static std::uint64_t hash_of_word(const key_word& word) {
    if constexpr (has_fingerprints) return bt::hash_of(words::key(word));
    static_cast<void>(word);
    return 0;
  }

 private:
  void take(std::size_t place) {
    // (2) of bt_node.h
    used.store(used.load(memory_order_relaxed) | UINT64_C(1) << place, memory_order_release);
  }
  [[nodiscard]] static std::size_t free_place(std::uint64_t places, std::uint64_t hash) {
    const std::uint64_t free = ~places & all;
    if constexpr (has_homes) {
      const std::uint64_t at_home = ((UINT64_C(1) << per_line) - 1U) << (home(hash) * per_line);
      if ((free & at_home) != 0) {
        return static_cast<std::size_t>(std::countr_zero(free & at_home));
      }
    }
    return static_cast<std::size_t>(std::countr_zero(free));
  }

  marks marks_;
  const std::uint8_t kind_ = of_elements;
  alignas(has_homes || has_direct ? line : alignof(element)) contents contents_;
};

// What all kinds of inner nodes have.
template <class K, class V, class Policies>
struct alignas(line) nodes<K, V, Policies>::inner {
  explicit inner(label begins) : keys_begin(std::move(begins)) {}

  node_lock lock;
  const label keys_begin;          // with this, except those that come before all or after all
  atomic<std::uint32_t> count{0};  // of children
  // When the tree is deleted. The ways of integers are short, and this would not fit in the line
  // that they read.
  [[no_unique_address]] std::conditional_t<keys::has_depth_in_edges, bt::nothing, edge>
      deleted_next{};

  [[nodiscard]] std::size_t size() const { return count.load(memory_order_relaxed); }
  // By the holder of the lock, or while nobody else knows the node.
  void set_size(std::size_t size) {
    count.store(static_cast<std::uint32_t>(size), memory_order_relaxed);
  }
};

// Children have places. All kinds of inner nodes have the same functions; those that change a node
// are called by the holder of its lock, or while nobody else knows the node. Places are in bounds
// also if the node is being changed.
template <class K, class V, class Policies>
struct nodes<K, V, Policies>::narrow : inner {
  static constexpr std::size_t most_children = 16;
  using inner::inner;

  // The least digit of each child: 0 of the first one, which takes all that are less than the
  // second one's.
  std::array<atomic<std::uint16_t>, most_children> begins{};
  std::array<atomic<edge>, most_children> children{};

  // The place of the child in which keys with the digit are.
  template <host::instruction_set Set = host::instruction_set::scalar>
  [[nodiscard]] std::size_t place_of(int digit) const {
    const auto number = static_cast<std::uint16_t>(std::max(digit, 0));
    const std::size_t begun =
        vector_search::count_at_most<Set, most_children>(begins.data(), number, last() + 1);
    return std::max<std::size_t>(begun, 1) - 1;
  }
  [[nodiscard]] bool has_room(int /*digit*/) const { return this->size() < most_children; }
  [[nodiscard]] static bool has_place_for(int /*digit*/) { return true; }
  [[nodiscard]] std::size_t last() const {
    return std::clamp<std::size_t>(this->size(), 1, most_children) - 1;
  }
  [[nodiscard]] edge child(std::size_t place) const {
    return children[place].load(memory_order_acquire);  // (1) of bt_node.h
  }
  // The place of the child before or after that at a place, which is not the first or the last.
  [[nodiscard]] static std::size_t before(std::size_t place) {
    return std::max<std::size_t>(place, 1) - 1;
  }
  [[nodiscard]] static std::size_t after(std::size_t place) { return place + 1; }
  [[nodiscard]] static bool is_first(std::size_t place) { return place == 0; }
  [[nodiscard]] bool is_last(std::size_t place) const { return place >= last(); }
  // The least digit of a child that is not the first.
  [[nodiscard]] int digit_of(std::size_t place) const {
    return begins[place].load(memory_order_relaxed);
  }
  // A place that is drawn at random, and one upon its chance.
  [[nodiscard]] std::pair<std::size_t, double> draw(std::uint64_t random) const {
    return {random % (last() + 1), static_cast<double>(last() + 1)};
  }

  void set_child(std::size_t place, edge to) {
    children[place].store(to, memory_order_release);  // (1) of bt_node.h
  }
  // Adds a child after all others.
  void append(int digit, edge to) {
    set(this->size(), this->size() == 0 ? 0 : digit, to);
    this->set_size(this->size() + 1);
  }
  // The child gives way to two, the second of which begins at `digit`. There is room.
  void split(std::size_t place, edge one, int digit, edge other) {
    const std::size_t size = this->size();
    for (std::size_t to = size; to > place + 1; --to) set(to, digit_of(to - 1), child(to - 1));
    set_child(place, one);
    set(place + 1, digit, other);
    this->set_size(size + 1);
  }
  // The child and the next one give way to one.
  void join(std::size_t place, edge both) {
    const std::size_t size = this->size();
    set_child(place, both);
    for (std::size_t to = place + 1; to + 1 < size; ++to) set(to, digit_of(to + 1), child(to + 1));
    this->set_size(size - 1);
  }

 private:
  void set(std::size_t place, int digit, edge to) {
    begins[place].store(static_cast<std::uint16_t>(digit), memory_order_relaxed);
    set_child(place, to);
  }
};

// A place for each digit, or for as many neighbouring ones as 1 << Shared. The places of a child
// are all of its run, and any one of them stands for it.
template <class K, class V, class Policies>
template <unsigned Shared>
struct nodes<K, V, Policies>::by_digit : inner {
  static constexpr std::size_t places = (static_cast<std::size_t>(keys::most_digit) >> Shared) + 1;
  using inner::inner;

  // In lines of their own, right after what all inner nodes have: edge_by_digit() knows that.
  alignas(line) std::array<atomic<edge>, places> children{};

  template <host::instruction_set Set = host::instruction_set::scalar>
  [[nodiscard]] static std::size_t place_of(int digit) {
    return static_cast<std::size_t>(std::clamp(digit, 0, keys::most_digit)) >> Shared;
  }
  // Whether a child can begin at the digit.
  [[nodiscard]] static bool has_place_for(int digit) {
    return (static_cast<unsigned>(digit) & ((1U << Shared) - 1)) == 0;
  }
  [[nodiscard]] static bool has_room(int digit) { return has_place_for(digit); }
  [[nodiscard]] edge child(std::size_t place) const {
    return children[place].load(memory_order_acquire);  // (1) of bt_node.h
  }
  // In bounds also where the run, which is not the first or the last one, has just become that.
  [[nodiscard]] std::size_t before(std::size_t place) const {
    return std::max<std::size_t>(first_of(place), 1) - 1;
  }
  [[nodiscard]] std::size_t after(std::size_t place) const {
    return std::min(end_of(place), places - 1);
  }
  [[nodiscard]] bool is_first(std::size_t place) const { return first_of(place) == 0; }
  [[nodiscard]] bool is_last(std::size_t place) const { return end_of(place) == places; }
  [[nodiscard]] int digit_of(std::size_t place) const {
    return static_cast<int>(first_of(place) << Shared);
  }
  [[nodiscard]] std::pair<std::size_t, double> draw(std::uint64_t random) const {
    const std::size_t place = random % places;
    const auto run = static_cast<double>(end_of(place)) - static_cast<double>(first_of(place));
    return {place, static_cast<double>(places) / std::max(run, 1.0)};
  }

  void set_child(std::size_t place, edge to) { set(first_of(place), end_of(place), to); }
  void append(int digit, edge to) {
    set(this->size() == 0 ? 0 : place_of(digit), places, to);
    this->set_size(this->size() + 1);
  }
  void split(std::size_t place, edge one, int digit, edge other) {
    const std::size_t first = first_of(place);
    const std::size_t end = end_of(place);
    set(first, place_of(digit), one);
    set(place_of(digit), end, other);
    this->set_size(this->size() + 1);
  }
  void join(std::size_t place, edge both) {
    const std::size_t first = first_of(place);
    set(first, end_of(end_of(place)), both);
    this->set_size(this->size() - 1);
  }

 private:
  // The first place of a run, and the one after its last.
  [[nodiscard]] std::size_t first_of(std::size_t place) const {
    const edge same = child(place);
    while (place > 0 && child(place - 1) == same) --place;
    return place;
  }
  [[nodiscard]] std::size_t end_of(std::size_t place) const {
    if (place >= places) return places;
    const edge same = child(place);
    while (place < places && child(place) == same) ++place;
    return place;
  }
  void set(std::size_t from, std::size_t end, edge to) {
    for (; from < end; ++from) children[from].store(to, memory_order_release);  // (1) of bt_node.h
  }
};

}  // namespace assay::radix::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_NODE_H_
