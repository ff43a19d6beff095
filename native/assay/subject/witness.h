// Values that say for which key, by whom and when they were drawn, and what a thread has seen of
// them.
//
// A value of 64 bits, or a string of 8 bytes or more, has room for all three, from the high bits
// down:
//
//     16 bits  a check of the key and the rest
//     10 bits  the thread that drew it
//     38 bits  a number that grows with every value that the thread draws, for whatever key
//
// No two of a trial are equal. An answer is right if its check fits the key; and a thread remembers
// what it has seen under some of the keys, the watched ones, and so knows values that are gone.
//
// Which values are gone
// ---------------------
// A thread has seen value x under key k when a search of k found it, or when it inserted it itself.
// It knows that x is gone, and may never be found under k again, as soon as
// (1) it sees another value of the same thread with a higher number: that thread drew and stored
//     both, one after the other, and a key holds one value at a time, so that the lower one had
//     been erased or replaced before;
// (2) it sees any other value y after x, inserts k, or erases k: at that moment k did not hold x,
//     which nobody stores a second time.
// If a map's operations take effect one after the other, each between its call and its return, no
// answer shows a value that is gone. Nor does the walk at the end, which is held against all that
// any thread knows. Overwriting values (insert_or_assign, update) changes nothing: each such
// operation draws a value of its own, even where the map does not say which value it replaced.
//
// What it does not see: a value that was current when the thread last looked and that nobody else's
// answers contradict; keys that are not watched, all but one in 256 (with one in 64, the loop took
// 4% longer over a map that does nothing; so it takes 1%), and of more than 131,072 keys even
// fewer, about 512 in all; a value gone for long among those of six threads and more, as a key has
// room for what is known of five; searches that find nothing, which are not taken note of; what a
// visit of many elements meets; and the order of what two threads have seen.
//
// A map that takes values of fewer bits (subject.h) leaves a check of as many fewer, of 8 at least.
// Values of fewer than 56 bits, values that follow a distribution, strings shorter than 8 bytes and
// trials of more than 1,022 threads have no room. There, values depend on the key and the trial's
// seed alone.

#ifndef ASSAY_SUBJECT_WITNESS_H_
#define ASSAY_SUBJECT_WITNESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/subject/tally.h"
#include "assay/subject/type_spec.h"
#include "assay/workload/key_space.h"

namespace assay::subject {

// How the values of a batch are drawn and recognised. Without a witness they are value_of(key,
// salt).
struct value_numbers {
  std::uint64_t salt = 0;
  value_layout bits{};
  std::uint64_t last = 0;  // what does not depend on the key, of the value drawn last
  std::uint64_t step = 0;
  std::uint64_t watched = 256;  // the group of keys that is watched, of 256; 256: none is

  [[nodiscard]] std::uint64_t hash(std::uint64_t key) const { return value_of(key, salt); }
  std::uint64_t draw(std::uint64_t hash) { return checked(hash, last += step, bits.check); }
  // Whether it may be the hash of a watched key.
  [[nodiscard]] bool watches(std::uint64_t hash) const { return group_of(hash) == watched; }
  // Uses the bits below a value's check.
  [[nodiscard]] static std::uint64_t group_of(std::uint64_t hash) { return hash >> 40 & 255; }
};

// What all threads of a trial agree on.
class value_rules {
 public:
  static constexpr unsigned number_bits = 38;
  static constexpr unsigned writer_bits = 10;
  static constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
  static constexpr std::uint64_t rest_mask = (std::uint64_t{1} << (number_bits + writer_bits)) - 1;

  static constexpr std::size_t slots = 512;  // of watched keys, by bits of their hashes

  // No value is one of `reserved`. `ordered`: the map's operations take effect one after the other,
  // so that what is gone is known to be.
  value_rules(std::uint64_t salt, const type_spec& value, unsigned threads,
              std::span<const std::uint64_t> reserved, const workload::key_space& space,
              bool ordered);

  [[nodiscard]] bool are_signed() const { return first_writer_ != 0; }
  [[nodiscard]] bool are_ordered() const { return ordered_; }
  [[nodiscard]] const workload::key_space& space() const { return space_; }
  [[nodiscard]] std::uint64_t hash(std::uint64_t key) const { return numbers_.hash(key); }

  // What a thread draws values by, before its first.
  [[nodiscard]] value_numbers numbers_of(unsigned thread) const;

  // Whether some thread may have drawn the number `value` for `key`.
  [[nodiscard]] bool fits(std::uint64_t key, std::uint64_t value) const;

  // "value 12 of thread 1", if that is what it looks like, else the number.
  [[nodiscard]] std::string name_of(std::uint64_t value) const;
  // The same, with the key for which it was drawn, where only one can be.
  [[nodiscard]] std::string origin_of(std::uint64_t value) const;

  [[nodiscard]] static std::size_t slot_of(std::uint64_t hash) { return hash >> 31 & (slots - 1); }
  // The key that is watched in each slot, or 0.
  [[nodiscard]] std::span<const std::uint64_t> watched() const { return watched_; }

  [[nodiscard]] static std::uint64_t number_of(std::uint64_t value) { return value & number_mask; }
  // None if it is not one of the trial's.
  [[nodiscard]] std::optional<unsigned> thread_of(std::uint64_t value) const;

 private:
  unsigned threads_;
  workload::key_space space_;
  bool ordered_;
  unsigned first_writer_ = 0;  // what stands for thread 0; 0 if values have no room
  std::function<std::uint64_t(std::uint64_t)> kept_;  // what a map holds of a number
  value_numbers numbers_;                             // but for who draws
  std::vector<std::uint64_t> watched_;
};

// One thread's part. Written by that thread alone, and read when all have ended.
class witness {
 public:
  // An answer that no correct map gives.
  struct oddity {
    std::uint64_t key;
    std::uint64_t value;
    std::uint64_t known = 0;  // the value after which it was seen; 0: of another key, or none's
  };

  // What is known of one watched key.
  struct alignas(64) memory {
    std::uint64_t key = 0;
    std::uint64_t current = 0;  // seen last, and not known to be gone; 0: none
    std::uint32_t added = 0;    // how often this thread did, by answers
    std::uint32_t removed = 0;
    std::array<std::uint64_t, 5> gone{};  // with all of lower numbers; by the thread that drew them
  };

  witness(const value_rules& rules, unsigned thread);

  // Throws std::length_error if the thread has used up its numbers, which takes hours.
  [[nodiscard]] value_numbers begin_batch();
  void end_batch(const value_numbers& numbers) { numbers_ = numbers; }

  // The key's hash may be that of a watched one; the `value` fits the key.
  void inserted(std::uint64_t key, std::uint64_t hash, std::uint64_t value);
  void erased(std::uint64_t key, std::uint64_t hash);
  void found(std::uint64_t key, std::uint64_t hash, std::uint64_t value);

  // A value that does not fit the key, by a search or by a visit.
  void found_wrong(std::uint64_t key, std::uint64_t value) { note(first_wrong_, {key, value}); }
  void visited_wrong(std::uint64_t key) { note(first_wrong_visit_, {key, 0}); }

  // What was seen after `value`, or that itself, if it is known to be gone.
  [[nodiscard]] std::optional<std::uint64_t> known_after(std::uint64_t key,
                                                         std::uint64_t value) const;

  [[nodiscard]] std::uint64_t drawn() const { return value_rules::number_of(numbers_.last); }
  [[nodiscard]] std::uint64_t stale() const { return stale_; }
  [[nodiscard]] const std::optional<oddity>& first_stale() const { return first_stale_; }
  [[nodiscard]] const std::optional<oddity>& first_wrong() const { return first_wrong_; }
  [[nodiscard]] const std::optional<oddity>& first_wrong_visit() const {
    return first_wrong_visit_;
  }
  // By slot.
  [[nodiscard]] std::span<const memory> memories() const { return memories_; }

 private:
  static void note(std::optional<oddity>& first, const oddity& one) {
    if (!first) first = one;
  }
  memory* memory_of(std::uint64_t key, std::uint64_t hash);

  const value_rules* rules_;
  value_numbers numbers_;
  std::vector<memory> memories_;
  bool remembers_;  // values; added and removed are counted always
  std::uint64_t stale_ = 0;
  std::optional<oddity> first_stale_;
  std::optional<oddity> first_wrong_;
  std::optional<oddity> first_wrong_visit_;
};

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_WITNESS_H_
