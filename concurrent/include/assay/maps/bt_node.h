// The nodes of bt_map.h: their layout in memory, and how a node is read while others change it.
//
// An element is a key word and, for some types, a value word:
//
//     keys             values           key word                           value word
//     at most 8 bytes  at most 8 bytes  the key                            the value
//     at most 8 bytes  other            the key                            pointer to a box
//     other            any              pointer to a record of both        none
//
// Boxes and records never change.
//
// "At most 8 bytes" means 1, 2, 4 or 8, trivially copyable, without padding. Words are atomic.
// What a thread reads of a node that it has not locked counts only once it has validated the node's
// version (locks/optimistic_lock.h); until then it may be words of different times. What pointers
// lead to never changes, and is retired when nothing leads to it any more, so that it can be read
// even before the version was validated:
//
// (1) Pointers are stored with release and loaded with acquire: what they lead to is there.
// (2) A place of an array counts only once its bit, or the node's count, says that it is used. Both
//     are stored with release and loaded with acquire. So a pointer that is found in such a place
//     is at least as new, and was retired, if at all, after the reader had pinned.
//
// A leaf with 44 elements of 16 bytes:
//
//     line 0     lock, one bit for each place that is used, a fingerprint of a byte for each place
//     line 1-11  elements, four in each, in no order
//
// A key's hash gives its fingerprint and its home, the line in which it is put if there is room. A
// search touches line 0 and, nearly always, one more line, which is known before line 0 arrives:
// both are fetched at the same time. (Fingerprints are from the FPTree of Oukid et al. 2016,
// section 4.)
//
// An internal node with 23 children of 64-bit keys takes 6 lines, and a search touches its first
// three, which hold the lock and all keys, and one of the others.

#ifndef ASSAY_MAPS_BT_NODE_H_
#define ASSAY_MAPS_BT_NODE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/instruction_set.h"
#include "assay/maps/concept.h"
#include "assay/maps/vector_search.h"

namespace assay::bt::inline ASSAY_ABI {

inline constexpr std::size_t line = 64;  // bytes of a cache line

// Whether `Compare` orders keys, and can be asked to by many threads.
template <class Compare, class K>
concept order = std::predicate<const Compare&, const K&, const K&> &&
                // std::less<K> can be asked whatever K is, and fails within.
                (!std::same_as<Compare, std::less<K>> || requires(const K& key) { key < key; });

// Without padding, so that equal ones have equal bytes.
template <class T>
inline constexpr bool is_word =
    std::is_trivially_copyable_v<T> && std::semiregular<T> &&
    (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>) &&
    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

// Whether equal keys, and no others, are equivalent by `Compare` and have the same std::hash.
template <class T>
inline constexpr bool is_string = false;
template <class C, class T, class A>
inline constexpr bool is_string<std::basic_string<C, T, A>> = true;
template <class C, class T>
inline constexpr bool is_string<std::basic_string_view<C, T>> = true;
template <class K, class Compare>
inline constexpr bool is_hashable =
    (std::is_arithmetic_v<K> || std::is_pointer_v<K> ||
     // Strings of other traits or allocators need not have one.
     (is_string<K> && std::is_default_constructible_v<std::hash<K>>)) &&
    (std::same_as<Compare, std::less<K>> || std::same_as<Compare, std::greater<K>> ||
     std::same_as<Compare, std::less<>> || std::same_as<Compare, std::greater<>>);

// Whether Q is a type of keys to search by, next to K: `Compare` says that it takes such.
template <class Q, class K, class Compare>
concept other_key = requires { typename Compare::is_transparent; } && !std::same_as<Q, K> &&
                    // A number is converted to K, as everywhere: -1 is above 1 as an unsigned one.
                    !(std::is_arithmetic_v<Q> && std::is_arithmetic_v<K>) &&
                    std::predicate<const Compare&, const Q&, const K&> &&
                    std::predicate<const Compare&, const K&, const Q&>;

// Whether a key of type Q has the hash of the K that it is equal to: of strings the characters
// count, not what holds them.
template <class K>
struct string_traits {
  using view = void;
};
template <class C, class T, class A>
struct string_traits<std::basic_string<C, T, A>> {
  using view = std::basic_string_view<C, T>;
};
template <class C, class T>
struct string_traits<std::basic_string_view<C, T>> {
  using view = std::basic_string_view<C, T>;
};
template <class Q, class K>
inline constexpr bool hashes_as =
    std::same_as<Q, K> || (is_string<K> && (is_string<Q> || !std::is_class_v<Q>) &&
                           std::convertible_to<const Q&, typename string_traits<K>::view>);

// A number whose every bit depends on all bits of the key.
template <class K>
[[nodiscard]] inline std::uint64_t hash_of(const K& key) {
  std::uint64_t number = 0;
  if constexpr (std::is_integral_v<K> && sizeof(K) == 1) {
    number = static_cast<std::uint8_t>(key);
  } else if constexpr (std::is_integral_v<K>) {
    number = static_cast<std::uint64_t>(key);
  } else {
    number = std::hash<K>{}(key);
  }
  // The two halves of a product with an odd number, one upon the other. Any one with as many ones
  // as zeros will do; this is the golden ratio's.
  __extension__ using wide = unsigned __int128;
  const wide product =
      static_cast<wide>(number ^ UINT64_C(0x2545f4914f6cdd1d)) * UINT64_C(0x9e3779b97f4a7c15);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

// A key and value that are not words. The element and every separator that was made of it own it.
template <class K, class V>
struct record {
  // Both are made here, and need not be movable.
  template <class Key, class... Args>
  explicit record(std::in_place_t /*here*/, Key&& key_, Args&&... args)
      : key(std::forward<Key>(key_)), value(std::forward<Args>(args)...) {}

  const K key;
  const V value;
  atomic<std::uint32_t> owners{1};

  // By whoever holds the lock of a node that leads to it, so that it has an owner: relaxed.
  void own() noexcept { owners.fetch_add(1, memory_order_relaxed); }
  // Whether that was the last owner. What each of them did with it happened before: each release
  // pairs with the acquire of the last.
  [[nodiscard]] bool disown() noexcept { return owners.fetch_sub(1, memory_order_acq_rel) == 1; }
};

template <class V>
struct box {
  template <class... Args>
  explicit box(std::in_place_t /*here*/, Args&&... args) : value(std::forward<Args>(args)...) {}

  const V value;
};

struct nothing {};

// The types of an element's two words, and of what they represent.
template <class K, class V>
struct words_of {
  static constexpr bool has_key = is_word<K>;
  static constexpr bool has_value = is_word<K> && is_word<V>;
  static constexpr bool has_box = is_word<K> && !is_word<V>;

  using record_type = record<K, V>;
  using box_type = box<V>;
  using key_word = std::conditional_t<has_key, K, record_type*>;
  using value_word =
      std::conditional_t<has_value, V, std::conditional_t<has_box, box_type*, nothing>>;

  // The caller keeps the word for as long as it uses the key.
  [[nodiscard]] static const K& key(const key_word& word) {
    if constexpr (has_key) {
      return word;  // NOLINT(bugprone-return-const-ref-from-parameter)
    } else {
      return word->key;
    }
  }
  [[nodiscard]] static const V& value(const key_word& word, const value_word& held) {
    if constexpr (has_value) {
      static_cast<void>(word);
      return held;  // NOLINT(bugprone-return-const-ref-from-parameter)
    } else if constexpr (has_box) {
      static_cast<void>(word);
      return held->value;
    } else {
      static_cast<void>(held);
      return word->value;
    }
  }
};

// A word of a node: (1) of the head of this file for pointers, and for all others relaxed, since
// the node's lock orders them.
template <class Word>
[[nodiscard]] Word load_word(const atomic<Word>& from) noexcept {
  if constexpr (std::is_pointer_v<Word>) return from.load(memory_order_acquire);
  return from.load(memory_order_relaxed);
}
template <class Word>
void store_word(atomic<Word>& to, Word word) noexcept {
  if constexpr (std::is_pointer_v<Word>) return to.store(word, memory_order_release);
  to.store(word, memory_order_relaxed);
}

// The same, for words that may be nothing.
template <class Word>
class slot {
 public:
  [[nodiscard]] Word load() const noexcept { return load_word(word_); }
  void store(Word word) noexcept { store_word(word_, word); }

 private:
  atomic<Word> word_;
};
template <>
class slot<nothing> {
 public:
  [[nodiscard]] static nothing load() noexcept { return {}; }
  static void store(nothing /*word*/) noexcept {}
};

// How many items a node is given that is to be nearly full: room is left for a few more if it is
// not small.
constexpr std::size_t nearly_full(std::size_t capacity) { return capacity - capacity / 16; }

// An element outside of a node.
template <class Words>
struct entry {
  [[no_unique_address]] typename Words::key_word key;
  [[no_unique_address]] typename Words::value_word value;
};

// The parts of the layout: docs/guide/bt_map.md says what each gains. There is no reason to change
// them but to measure that: by `using layout = ...` in the policies.
struct default_layout {
  // Whether a leaf that is less than a quarter full is joined with a sibling, not only one of fewer
  // than 3 elements, and whether a leaf that grows at one of its ends is split there, not in
  // halves.
  static constexpr bool keeps_leaves_full = true;
  // For keys that can be hashed: whether leaves are searched by fingerprints of a byte, and whether
  // elements are put in the line that their hash names.
  static constexpr bool fingerprints = true;
  static constexpr bool homes = true;
  // Whether an update fetches the lines of a leaf as one that will write to them.
  static constexpr bool fetches_to_write = true;
  // The best vector instructions that are used where the processor has them.
  static constexpr host::instruction_set most_instructions = host::instruction_set::avx512;
};
template <class Policies>
struct layout_in {
  using type = default_layout;
};
template <class Policies>
  requires requires { typename Policies::layout; }
struct layout_in<Policies> {
  using type = typename Policies::layout;
};
template <class Policies>
using layout_of = typename layout_in<Policies>::type;

// The types that one map is made of.
template <class K, class V, class Policies>
struct nodes {
  using compare = typename Policies::compare;
  using node_lock = typename Policies::synchronisation::node_lock;
  using layout = layout_of<Policies>;
  using words = words_of<K, V>;
  using key_word = typename words::key_word;
  using value_word = typename words::value_word;
  using entry_type = entry<words>;

  static constexpr std::size_t leaf_capacity = Policies::leaf_capacity;
  static constexpr std::size_t internal_capacity = Policies::internal_capacity;
  static constexpr std::size_t most_in_leaf = leaf_capacity;

  // Whether leaves are searched by fingerprints, and internal nodes by vector instructions.
  static constexpr bool has_fingerprints = layout::fingerprints && is_hashable<K, compare>;
  static constexpr bool has_vectors =
      vector_search::serves<K> &&
      (std::same_as<compare, std::less<K>> || std::same_as<compare, std::less<>>);

  static constexpr bool has_sortable_keys = has_vectors;  // by vector instructions

  struct element {
    [[no_unique_address]] slot<key_word> key;
    [[no_unique_address]] slot<value_word> value;
  };
  static constexpr std::size_t per_line = sizeof(element) <= line ? line / sizeof(element) : 1;
  static constexpr std::size_t homes = leaf_capacity / per_line;
  static constexpr bool has_homes = layout::homes && has_fingerprints && homes > 1;

  using edge = std::uintptr_t;  // the address of a node, and whether it is a leaf

  struct alignas(line) leaf;
  struct alignas(line) internal;

  static constexpr edge leaf_mark = 1;
  static bool is_leaf(edge to) { return (to & leaf_mark) != 0; }
  // An edge is what edge_to() made of a node's address.
  static leaf* leaf_at(edge to) {
    return reinterpret_cast<leaf*>(to - leaf_mark);  // NOLINT(performance-no-int-to-ptr)
  }
  static internal* internal_at(edge to) {
    return reinterpret_cast<internal*>(to);  // NOLINT(performance-no-int-to-ptr)
  }
  static edge edge_to(const leaf* node) { return reinterpret_cast<edge>(node) + leaf_mark; }
  static edge edge_to(const internal* node) { return reinterpret_cast<edge>(node); }
};

// Padded on purpose: elements begin a line.
template <class K, class V, class Policies>
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct alignas(line) nodes<K, V, Policies>::leaf {
  static constexpr std::uint64_t all =
      leaf_capacity == 64 ? ~UINT64_C(0) : (UINT64_C(1) << (leaf_capacity % 64U)) - 1U;

  node_lock lock;
  atomic<std::uint64_t> used{0};  // bit i: place i holds an element
  [[no_unique_address]] std::conditional_t<
      has_fingerprints, std::array<atomic<std::uint8_t>, leaf_capacity>, nothing> fingerprints{};
  alignas(has_homes ? line : alignof(element)) std::array<element, leaf_capacity> elements{};

  static std::uint8_t fingerprint(std::uint64_t hash) { return static_cast<std::uint8_t>(hash); }
  static std::size_t home(std::uint64_t hash) { return ((hash >> 32U) * homes) >> 32U; }

  // (2) of the head of this file. By a holder of the lock, or for its answer to be validated.
  [[nodiscard]] std::uint64_t places() const { return used.load(memory_order_acquire); }
  [[nodiscard]] entry_type at(std::size_t place) const {
    return {elements[place].key.load(), elements[place].value.load()};
  }

  [[nodiscard]] key_word key_at(std::size_t place) const { return elements[place].key.load(); }
  [[nodiscard]] const auto& bytes() const { return fingerprints; }
  // Whether the elements at ascending places have ascending keys.
  [[nodiscard]] static constexpr bool is_in_order() { return false; }
  // Where the key with that hash probably is.
  [[nodiscard]] const void* line_of(std::uint64_t hash) const {
    return &elements[home(hash) * per_line];
  }

  // Where a new element goes; there is room.
  [[nodiscard]] static std::size_t free_place(std::uint64_t places, std::uint64_t hash) {
    const std::uint64_t free = ~places & all;
    if (free == 0) __builtin_unreachable();  // else gcc 12 warns of what load_sorted() makes of it
    if constexpr (has_homes) {
      const std::uint64_t at_home = ((UINT64_C(1) << per_line) - 1U) << (home(hash) * per_line);
      if ((free & at_home) != 0) {
        return static_cast<std::size_t>(std::countr_zero(free & at_home));
      }
    }
    return static_cast<std::size_t>(std::countr_zero(free));
  }

  // By the holder of the lock, or while nobody else knows the node; the place is free.
  void put(std::size_t place, const entry_type& what, std::uint64_t hash) {
    elements[place].key.store(what.key);
    elements[place].value.store(what.value);
    if constexpr (has_fingerprints) {
      fingerprints[place].store(fingerprint(hash), memory_order_relaxed);
    }
    // (2)
    used.store(used.load(memory_order_relaxed) | UINT64_C(1) << place, memory_order_release);
  }
  void put(const entry_type& what) {
    const std::uint64_t hash = has_fingerprints ? hash_of_word(what.key) : 0;
    put(free_place(used.load(memory_order_relaxed), hash), what, hash);
  }
  // There is room, and the key is not there.
  void put_new(std::uint64_t places, const entry_type& what, std::uint64_t hash) {
    put(free_place(places, hash), what, hash);
  }
  // In the place of an element with the same key.
  void replace(std::size_t place, const entry_type& what) {
    elements[place].key.store(what.key);
    elements[place].value.store(what.value);
  }
  void remove(std::size_t place) {
    // (2)
    used.store(used.load(memory_order_relaxed) & ~(UINT64_C(1) << place), memory_order_release);
  }

  [[nodiscard]] static std::uint64_t hash_of_word(const key_word& word) {
    if constexpr (has_fingerprints) return hash_of(words::key(word));
    static_cast<void>(word);
    return 0;
  }
};

template <class K, class V, class Policies>
struct alignas(line) nodes<K, V, Policies>::internal {
  static constexpr std::size_t most_keys = internal_capacity - 1;

  internal() {
    for (std::size_t i = 0; i < most_keys; ++i) clear_key(i);
  }

  node_lock lock;
  atomic<std::uint32_t> count{0};  // of children
  // Separators: child i holds keys that are above separator i - 1 and at most separator i. Those
  // that are not used are the greatest key there is where vector instructions look at all of them.
  std::array<atomic<key_word>, most_keys> keys{};
  std::array<atomic<edge>, internal_capacity> children{};

  [[nodiscard]] std::size_t size() const { return count.load(memory_order_acquire); }  // (2)
  [[nodiscard]] edge child(std::size_t i) const {
    return children[i].load(memory_order_acquire);  // (1)
  }

  [[nodiscard]] key_word key(std::size_t i) const { return load_word(keys[i]); }

  // By the holder of the lock, or while nobody else knows the node.
  void set_child(std::size_t i, edge to) { children[i].store(to, memory_order_release); }  // (1)
  void set_key(std::size_t i, key_word word) { store_word(keys[i], word); }
  void set_size(std::size_t size) {
    count.store(static_cast<std::uint32_t>(size), memory_order_release);  // (2)
  }
  void clear_key(std::size_t i) {
    if constexpr (has_vectors) set_key(i, std::numeric_limits<K>::max());
  }

  // Puts two children, with a separator, in the place of one. There is room.
  void split_child(std::size_t i, edge left, const key_word& separator, edge right) {
    const std::size_t size = this->size();
    for (std::size_t to = size; to > i + 1; --to) set_child(to, child(to - 1));
    for (std::size_t to = size - 1; to > i; --to) set_key(to, key(to - 1));
    set_key(i, separator);
    set_child(i, left);
    set_child(i + 1, right);
    set_size(size + 1);
  }
  // Puts one child in the place of two.
  void join_children(std::size_t i, edge both) {
    const std::size_t size = this->size();
    set_child(i, both);
    for (std::size_t to = i + 1; to + 1 < size; ++to) set_child(to, child(to + 1));
    for (std::size_t to = i; to + 2 < size; ++to) set_key(to, key(to + 1));
    clear_key(size - 2);
    set_size(size - 1);
  }

  // The child in which `key` is, if it is anywhere: how many separators are below it. The answer is
  // below the capacity also if the node is being changed.
  template <host::instruction_set Set>
  [[nodiscard]] std::size_t child_of(parameter<K> key, const compare& less) const {
    if constexpr (has_vectors) {
      return vector_search::count_less<Set, most_keys>(keys.data(), key);
    } else {
      return first_separator([&](const K& separator) { return less(separator, key); });
    }
  }
  // The same for a key of another type than K.
  template <class Q>
  [[nodiscard]] std::size_t child_of_other(const Q& key, const compare& less) const {
    return first_separator([&](const K& separator) { return less(separator, key); });
  }
  // The same for the least key above `bound`: how many separators are not above it.
  [[nodiscard]] std::size_t child_after(const K& bound, const compare& less) const {
    return first_separator([&](const K& separator) { return !less(bound, separator); });
  }

 private:
  // How many separators `is_before`, which holds for those before some place.
  template <class Before>
  [[nodiscard]] std::size_t first_separator(const Before& is_before) const {
    std::size_t low = 0;
    std::size_t high = std::max<std::size_t>(size(), 1) - 1;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const key_word word = key(middle);
      if (is_before(words::key(word))) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_NODE_H_
