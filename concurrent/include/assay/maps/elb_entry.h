// The words that an elb_tree changes one at a time: entries, and how they are coded.
//
//     using entry = assay::elb::element<std::uint32_t, std::int32_t, 31, 32>;  // a key, a value
//     using coding = assay::elb::coding<entry>;
//     const coding::word word = coding::encode({7, -1});                       // 64 bits, not 0
//     coding::decode(word).key;                                                // 7
//
// A word is 0 if it holds no entry. Its highest bit says that it changes no more (Bonnichsen 2016,
// listing 5.3). So words of 64 bits hold entries of up to 63 bits, and words of 128 bits of up to
// 127. A word is one more than its entry, so that 0 can be an entry, too. Where entries take all 63
// or 127 bits, the greatest one is left out.
//
// Words of 128 bits are changed by the wide compare-and-swap of x86-64. (Its very first processors
// lack that instruction, and cannot run such a tree.) Where there is AVX, they are read by a vector
// load, which Intel's and AMD's manuals promise to be one piece; elsewhere by the compare-and-swap.
// On other architectures the compiler's library takes a lock: then nothing is lock-free.

#ifndef ASSAY_MAPS_ELB_ENTRY_H_
#define ASSAY_MAPS_ELB_ENTRY_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "assay/base/atomics.h"
#include "assay/base/instruction_set.h"
#include "assay/base/sanitizers.h"

#if defined(__x86_64__)
#define ASSAY_OWN_WIDE_ATOMICS 1
#include <emmintrin.h>
#else
#define ASSAY_OWN_WIDE_ATOMICS 0
#endif
// ThreadSanitizer does not see what assembler does, so the code says how it orders threads.
#if ASSAY_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace assay::elb {

__extension__ using wide = unsigned __int128;

template <class Word>
inline constexpr Word read_only = Word{1} << (8 * sizeof(Word) - 1);

// A word that threads read, compare and swap, and make read-only. Every change is acquire and
// release, every load acquire: an entry may be the address of something that its inserter wrote.
template <class Word>
class place {
 public:
  static constexpr bool lock_free = true;

  // Places as numbers of 64 bits, for vector_search.h: how many numbers a place is. The last one is
  // its word, or the word's upper part.
  static constexpr std::size_t numbers = 1;
  static const atomic<Word>* numbers_of(const place* first) noexcept {
    return reinterpret_cast<const atomic<Word>*>(first);
  }
  static Word upper(Word word) noexcept { return word; }

  // `Set` is one that the processor has.
  template <host::instruction_set Set = host::instruction_set::scalar>
  [[nodiscard]] Word load() const noexcept {
    return word_.load(memory_order_acquire);
  }
  // Leaves in `expected` what was there.
  bool exchange(Word& expected, Word desired) noexcept {
    return word_.compare_exchange_strong(expected, desired, memory_order_acq_rel,
                                         memory_order_acquire);
  }
  void make_read_only() noexcept { word_.fetch_or(read_only<Word>, memory_order_acq_rel); }
  // While nobody else knows it.
  void set(Word word) noexcept { word_.store(word, memory_order_relaxed); }

 private:
  atomic<Word> word_{0};
};

// Without -mcx16, which would let the whole program need it, a compiler calls a library for atomic
// words of this width, whose loads may write.
template <>
class place<wide> {
 public:
#if ASSAY_OWN_WIDE_ATOMICS
  static constexpr bool lock_free = true;

  static constexpr std::size_t numbers = 2;
  static const atomic<std::uint64_t>* numbers_of(const place* first) noexcept {
    return reinterpret_cast<const atomic<std::uint64_t>*>(first);
  }
  static std::uint64_t upper(wide word) noexcept { return static_cast<std::uint64_t>(word >> 64U); }

  template <host::instruction_set Set = host::instruction_set::scalar>
  [[nodiscard]] wide load() const noexcept {
    __m128i met;
    // Keeps its place among other accesses of the compiler's; the processor's loads acquire.
    if (Set != host::instruction_set::scalar || loads_are_whole()) {
      asm volatile("vmovdqa %1, %0" : "=x"(met) : "m"(word_) : "memory");
    } else {
      wide held = 0;
      const_cast<place*>(this)->exchange(held, 0);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      return held;
    }
    acquired();
    return wide{static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(met, met)))}
               << 64U |
           static_cast<std::uint64_t>(_mm_cvtsi128_si64(met));
  }
  bool exchange(wide& expected, wide desired) noexcept {
    auto low = static_cast<std::uint64_t>(expected);
    auto high = static_cast<std::uint64_t>(expected >> 64U);
    bool is_done;  // NOLINT(cppcoreguidelines-init-variables): written below
    to_be_released();
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(is_done), "+m"(word_), "+a"(low), "+d"(high)
                 : "b"(static_cast<std::uint64_t>(desired)),
                   "c"(static_cast<std::uint64_t>(desired >> 64U))
                 : "memory");
    acquired();
    expected = wide{high} << 64U | low;
    return is_done;
  }
#else
  static constexpr bool lock_free = false;
  static constexpr std::size_t numbers = 0;  // their parts are read by nobody

  template <host::instruction_set Set = host::instruction_set::scalar>
  [[nodiscard]] wide load() const noexcept {
    wide met;
    __atomic_load(&word_, &met, __ATOMIC_ACQUIRE);
    return met;
  }
  bool exchange(wide& expected, wide desired) noexcept {
    return __atomic_compare_exchange(&word_, &expected, &desired, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
  }
#endif
  void make_read_only() noexcept {
    wide met = load();
    while (!exchange(met, met | read_only<wide>)) {
    }
  }
#if ASSAY_OWN_WIDE_ATOMICS
  void set(wide word) noexcept {
    word_ = _mm_set_epi64x(static_cast<std::int64_t>(upper(word)), static_cast<std::int64_t>(word));
  }
#else
  void set(wide word) noexcept { word_ = word; }
#endif

 private:
#if ASSAY_OWN_WIDE_ATOMICS
  // A word that the compiler's library has set before any constructor runs.
  static bool loads_are_whole() noexcept { return __builtin_cpu_supports("avx") != 0; }
#endif
#if ASSAY_THREAD_SANITIZER
  void acquired() const noexcept {
    __tsan_acquire(const_cast<__m128i*>(&word_));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  void to_be_released() noexcept { __tsan_release(&word_); }
#else
  static void acquired() noexcept {}
  static void to_be_released() noexcept {}
#endif
#if ASSAY_OWN_WIDE_ATOMICS
  __m128i word_{};  // of a type that may be read as any other
#else
  alignas(16) wide word_ = 0;
#endif
};

// --- coding --------------------------------------------------------------------------------------

// How many bits an integer has.
template <class T>
  requires std::integral<T> || std::same_as<T, wide>
inline constexpr unsigned bits = 8 * sizeof(T);
template <>
inline constexpr unsigned bits<bool> = 1;

// The least and the greatest number of this many bits.
template <class T, unsigned Bits>
inline constexpr T least = static_cast<T>(std::numeric_limits<T>::min() >> (bits<T> - Bits));
template <class T, unsigned Bits>
inline constexpr T most = static_cast<T>(std::numeric_limits<T>::max() >> (bits<T> - Bits));

// The word that has room for entries of this many bits.
template <unsigned Bits>
  requires(Bits <= 127)
using word_of = std::conditional_t<Bits <= 63, std::uint64_t, wide>;

// How entries are coded: `word`, and encode(entry) and decode(word), which keep the order. encode()
// throws std::out_of_range, with the reason. first(lo) and last(hi) are the ends of a range, also
// where `lo` or `hi` is above all entries that there are; the first may then be above the last.
template <class Entry>
struct coding;

// Unsigned integers; with 64 bits and more, as far as a word of that width has room for them.
template <class Entry>
  requires std::unsigned_integral<Entry> || std::same_as<Entry, wide>
struct coding<Entry> {
  using word = std::conditional_t<sizeof(Entry) <= 8, std::uint64_t, wide>;

  static word encode(Entry entry) {
    if (word{entry} >= read_only<word> - 1) {
      throw std::out_of_range("elb_tree: the greatest entry of a word of " +
                              std::to_string(8 * sizeof(word)) + " bits is 2^" +
                              std::to_string(8 * sizeof(word) - 1) + " - 2");
    }
    return word{entry} + 1;
  }
  static word first(Entry lo) { return std::min<word>(lo, read_only<word> - 1) + 1; }
  static word last(Entry hi) { return std::min<word>(hi, read_only<word> - 2) + 1; }
  static Entry decode(word held) { return static_cast<Entry>(held - 1); }
};

// A key and a value of this many bits, in the order of keys, and then of values. They begin at the
// highest bit that a word has for entries: so the upper part of a wide one tells most of them
// apart.
template <class K, class V, unsigned KeyBits = bits<K>, unsigned ValueBits = bits<V>>
struct element {
  K key;
  V value;

  friend bool operator==(const element&, const element&) = default;
};

// --- packing -------------------------------------------------------------------------------------

// The number that has room for this many bits.
template <unsigned Bits>
using number_of = std::conditional_t<Bits <= 64, std::uint64_t, wide>;

// A number of this many bits for each integer, in the same order: those with a sign are moved up by
// half of their range. Throws std::out_of_range, with the name, if the integer does not fit.
template <class T, unsigned Bits>
number_of<Bits> pack_integer(T from, const char* name) {
  using number = number_of<Bits>;
  constexpr number offset = std::is_signed_v<T> ? number{1} << (Bits - 1) : 0;
  const number up = static_cast<number>(from) + offset;
  if constexpr (Bits < 8 * sizeof(number)) {
    if (up >> Bits != 0) {
      throw std::out_of_range(std::string("elb_tree: the ") + name + " " + std::to_string(from) +
                              " does not fit into its " + std::to_string(Bits) + " bits");
    }
  }
  return up;
}
template <class T, unsigned Bits>
T unpack_integer(number_of<Bits> from) {
  constexpr number_of<Bits> offset = std::is_signed_v<T> ? number_of<Bits>{1} << (Bits - 1) : 0;
  return static_cast<T>(from - offset);
}

// How values become numbers of `bits` bits, in the same order: pack(value) and unpack(number). A
// program may specialise it for a type of its own, such as a point in time:
//
//     template <>
//     struct assay::elb::packing<minute> {
//       static constexpr unsigned bits = 32;
//       static std::uint64_t pack(minute from) { return from.since_start; }
//       static minute unpack(std::uint64_t from) { return {static_cast<std::uint32_t>(from)}; }
//     };
template <class T>
struct packing;

template <std::integral T>
struct packing<T> {
  static constexpr unsigned bits = elb::bits<T>;
  static std::uint64_t pack(T from) { return pack_integer<T, bits>(from, "element"); }
  static T unpack(std::uint64_t from) { return unpack_integer<T, bits>(from); }
};

template <class K, class V, unsigned KeyBits, unsigned ValueBits>
struct packing<element<K, V, KeyBits, ValueBits>> {
  static_assert(0 < KeyBits && KeyBits <= elb::bits<K> && 0 < ValueBits &&
                    ValueBits <= elb::bits<V>,
                "key_bits or value_bits is 0, or more than the key or the value has");
  static_assert(KeyBits + ValueBits <= 127,
                "a key and a value have together at most 127 bits: keep one of them in fewer, by "
                "key_bits or value_bits of the settings");
  using entry = element<K, V, KeyBits, ValueBits>;
  static constexpr unsigned bits = KeyBits + ValueBits;
  using number = number_of<bits>;

  static number pack(const entry& from) {
    return number{pack_integer<K, KeyBits>(from.key, "key")} << ValueBits |
           number{pack_integer<V, ValueBits>(from.value, "value")};
  }
  static entry unpack(number from) {
    constexpr number values = (number{1} << ValueBits) - 1;
    return {unpack_integer<K, KeyBits>(static_cast<number_of<KeyBits>>(from >> ValueBits)),
            unpack_integer<V, ValueBits>(static_cast<number_of<ValueBits>>(from & values))};
  }
};

template <class K, class V, unsigned KeyBits, unsigned ValueBits>
struct coding<element<K, V, KeyBits, ValueBits>> {
  using entry = element<K, V, KeyBits, ValueBits>;
  using packed_entry = packing<entry>;
  using word = word_of<packed_entry::bits>;

  static word encode(const entry& from) {
    const word all = packed(from);
    if (all == read_only<word> - 1) {
      throw std::out_of_range(
          "elb_tree: the greatest key with the greatest value is not an entry if they fill a word");
    }
    return all + 1;
  }
  // Throw std::out_of_range if the key or the value does not fit.
  static word first(const entry& lo) { return packed(lo) + 1; }
  static word last(const entry& hi) { return std::min<word>(packed(hi), read_only<word> - 2) + 1; }
  static entry decode(word held) {
    using number = typename packed_entry::number;
    return packed_entry::unpack(static_cast<number>((held - 1) >> unused));
  }

 private:
  static constexpr unsigned unused = 8 * sizeof(word) - 1 - packed_entry::bits;
  static word packed(const entry& from) { return word{packed_entry::pack(from)} << unused; }
};

}  // namespace assay::elb

#endif  // ASSAY_MAPS_ELB_ENTRY_H_
