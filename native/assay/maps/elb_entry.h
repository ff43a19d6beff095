#ifndef ASSAY_MAPS_ELB_ENTRY_H_
#define ASSAY_MAPS_ELB_ENTRY_H_
#include <cstdint>
#include <stdexcept>
#include "assay/sync/atomics.h"
namespace assay::elb {
template <class Word>
inline constexpr Word read_only = Word{1} << (8 * sizeof(Word) - 1);
template <class Word>
class atomic_word {
 public:
  static constexpr bool lock_free = true;
  [[nodiscard]] Word load(decltype(memory_order_relaxed) order) const { return word_.load(order); }
  void store(Word word, decltype(memory_order_relaxed) order) { word_.store(word, order); }
  bool compare_exchange_strong(Word& expected, Word desired, decltype(memory_order_relaxed) one, decltype(memory_order_relaxed) other) {
    return word_.compare_exchange_strong(expected, desired, one, other);
  }
  void fetch_or(Word bits) { word_.fetch_or(bits, memory_order_acq_rel); }
 private:
  atomic<Word> word_{0};
};
template <class Entry> struct coding;
template <> struct coding<std::uint64_t> {
  using word = std::uint64_t;
  static word encode(std::uint64_t entry) {
    if (entry >= read_only<word> - 1) throw std::out_of_range("elb_tree: an entry of 64 bits is less than 2^63 - 1");
    return entry + 1;
  }
  static std::uint64_t decode(word held) { return held - 1; }
};
}  // namespace assay::elb
#endif
