#include "assay/subject/witness.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/workload/operation_batch.h"

namespace assay::subject {
namespace {

// At most this many keys are looked at to find some to watch, or one for which a value was drawn.
constexpr std::uint64_t most_looked_at = 1 << 17;

// What a map holds of a number: all that can be known of it.
std::function<std::uint64_t(std::uint64_t)> kept_by(const type_spec& value) {
  const auto by = [](auto codec) {
    return [codec = std::move(codec)](std::uint64_t number) { return codec.kept(number); };
  };
  switch (value.type) {
    case type_spec::kind::uint64:
      return by(value_codec<std::uint64_t>(value));
    case type_spec::kind::uint32:
      return by(value_codec<std::uint32_t>(value));
    case type_spec::kind::bytes:
      break;
  }
  return by(value_codec<std::string>(value));
}

bool has_room(const type_spec& value) {
  constexpr unsigned least_check = 8;
  if (value.type == type_spec::kind::uint64) {
    return value.drawn == nullptr &&
           value.bits >= value_rules::number_bits + value_rules::writer_bits + least_check;
  }
  return value.type == type_spec::kind::bytes && value.least >= sizeof(std::uint64_t);
}

// Numbers that follow a distribution are drawn with as few, and numbers of 32 bits are cut.
std::uint64_t bits_of(const type_spec& value) {
  const bool may_have_fewer = value.type == type_spec::kind::uint64 && value.drawn == nullptr;
  return ~std::uint64_t{0} >> (may_have_fewer ? 64 - value.bits : 0);
}

std::uint64_t writer_of(std::uint64_t value) {
  return value >> value_rules::number_bits & ((std::uint64_t{1} << value_rules::writer_bits) - 1);
}

// Both are values of one key.
bool of_one_writer(std::uint64_t one, std::uint64_t other) {
  return writer_of(one) == writer_of(other);
}

// The number that represents the first thread, so that none draws a reserved value; 0 if there is
// none.
unsigned first_writer(unsigned threads, std::span<const std::uint64_t> reserved) {
  constexpr unsigned writers = 1U << value_rules::writer_bits;
  for (unsigned first = 1; first + threads <= writers; ++first) {
    if (std::ranges::none_of(reserved, [&](std::uint64_t value) {
          return writer_of(value) >= first && writer_of(value) < first + threads;
        })) {
      return first;
    }
  }
  return 0;
}

std::uint64_t& place_of(witness::memory& known, std::uint64_t value) {
  return known.gone[writer_of(value) % known.gone.size()];
}

// What is known later than `value`, if that is gone.
std::optional<std::uint64_t> after(const witness::memory& known, std::uint64_t value) {
  if (of_one_writer(known.current, value) &&
      value_rules::number_of(value) < value_rules::number_of(known.current))
    return known.current;
  const std::uint64_t gone = known.gone[writer_of(value) % known.gone.size()];
  if (of_one_writer(gone, value) && value_rules::number_of(value) <= value_rules::number_of(gone))
    return gone;
  return std::nullopt;
}

// The key holds `next` now, or may hold what is not known: what was known is gone.
void replace(witness::memory& known, std::uint64_t next) {
  const std::uint64_t last = std::exchange(known.current, next);
  if (last == 0) return;
  std::uint64_t& place = place_of(known, last);
  if (!of_one_writer(place, last) || value_rules::number_of(last) > value_rules::number_of(place))
    place = last;
}

}  // namespace

value_rules::value_rules(std::uint64_t salt, const type_spec& value, unsigned threads,
                         std::span<const std::uint64_t> reserved, const workload::key_space& space,
                         bool ordered)
    : threads_(threads),
      space_(space),
      ordered_(ordered),
      kept_(kept_by(value)),
      numbers_{.salt = salt, .bits = {.check = bits_of(value)}},
      watched_(slots) {
  if (has_room(value)) {
    const bool are_numbers = value.type == type_spec::kind::uint64;
    first_writer_ =
        first_writer(threads, are_numbers ? reserved : std::span<const std::uint64_t>());
    if (are_signed()) numbers_.bits = {numbers_.bits.check & ~rest_mask, rest_mask};
  }
  // From a key that is drawn on, which is watched, so that there is one.
  const std::uint64_t begin = random::mix64(salt) % space.range();
  numbers_.watched = value_numbers::group_of(hash(space.key(begin)));
  for (std::uint64_t i = 0; i < std::min(space.range(), most_looked_at); ++i) {
    const std::uint64_t key = space.key((begin + i) % space.range());
    if (!numbers_.watches(hash(key))) continue;
    if (std::uint64_t& slot = watched_[slot_of(hash(key))]; slot == 0) slot = key;
  }
}

value_numbers value_rules::numbers_of(unsigned thread) const {
  value_numbers numbers = numbers_;
  if (are_signed()) {
    numbers.last = std::uint64_t{first_writer_ + thread} << number_bits;
    numbers.step = 1;
  }
  return numbers;
}

bool value_rules::fits(std::uint64_t key, std::uint64_t value) const {
  if (!are_signed()) return value == kept_(hash(key) & numbers_.bits.check);
  return thread_of(value) && is_checked(value, hash(key), numbers_.bits);
}

std::optional<unsigned> value_rules::thread_of(std::uint64_t value) const {
  const std::uint64_t writer = writer_of(value);
  if (!are_signed() || writer < first_writer_ || writer - first_writer_ >= threads_) {
    return std::nullopt;
  }
  return static_cast<unsigned>(writer - first_writer_);
}

std::string value_rules::name_of(std::uint64_t value) const {
  const auto thread = thread_of(value);
  if (!thread) return std::to_string(value);
  return "value " + std::to_string(number_of(value)) + " of thread " + std::to_string(*thread);
}

std::string value_rules::origin_of(std::uint64_t value) const {
  std::string name = name_of(value);
  if (space_.range() > most_looked_at) return name;
  std::uint64_t keys = 0;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < space_.range(); ++i) {
    const std::uint64_t key = space_.key(i);
    if (!fits(key, value)) continue;
    ++keys;
    last = key;
  }
  if (keys == 0) return name + ", which no thread drew for any key";
  if (keys == 1) return name + ", which was drawn for key " + std::to_string(last);
  return name;
}

witness::witness(const value_rules& rules, unsigned thread)
    : rules_(&rules),
      numbers_(rules.numbers_of(thread)),
      memories_(value_rules::slots),
      remembers_(rules.are_signed() && rules.are_ordered()) {
  for (std::size_t slot = 0; slot < memories_.size(); ++slot) {
    memories_[slot].key = rules.watched()[slot];
  }
}

value_numbers witness::begin_batch() {
  constexpr std::uint64_t most = value_rules::number_mask - workload::operation_batch::capacity;
  if (value_rules::number_of(numbers_.last) > most) [[unlikely]] {
    throw std::length_error("a thread has drawn " + std::to_string(most) +
                            " values, and has no numbers for more: ask for a shorter trial");
  }
  return numbers_;
}

witness::memory* witness::memory_of(std::uint64_t key, std::uint64_t hash) {
  memory& known = memories_[value_rules::slot_of(hash)];
  return known.key == key ? &known : nullptr;
}

void witness::inserted(std::uint64_t key, std::uint64_t hash, std::uint64_t value) {
  memory* const known = memory_of(key, hash);
  if (known == nullptr) return;
  ++known->added;
  if (remembers_) replace(*known, value);
}

void witness::erased(std::uint64_t key, std::uint64_t hash) {
  memory* const known = memory_of(key, hash);
  if (known == nullptr) return;
  ++known->removed;
  replace(*known, 0);
}

void witness::found(std::uint64_t key, std::uint64_t hash, std::uint64_t value) {
  memory* const known = memory_of(key, hash);
  if (known == nullptr || !remembers_ || value == known->current) return;
  if (const auto later = after(*known, value)) {
    ++stale_;
    note(first_stale_, {key, value, *later});
  } else {
    replace(*known, value);
  }
}

std::optional<std::uint64_t> witness::known_after(std::uint64_t key, std::uint64_t value) const {
  const memory& known = memories_[value_rules::slot_of(rules_->hash(key))];
  if (known.key != key || !remembers_) return std::nullopt;
  return after(known, value);
}

}  // namespace assay::subject
