// What a random number engine is to Assay, and how one is chosen at run time.
//
//     const auto numbers = assay::random::make_number_source({.name = "pcg64"}, seed);
//     std::array<std::uint64_t, 512> block;
//     numbers->fill(block);                     // the stream's next 512 numbers, in one virtual
//     call
//
// An engine is a small class in a header of its own, made from one 64-bit seed. Behind a source,
// any of them can be the one that draws a trial's operations, in place, from an array made
// beforehand, or reseeded now and then with new entropy.

#ifndef ASSAY_RANDOM_ENGINE_H_
#define ASSAY_RANDOM_ENGINE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::random {

// An engine draws numbers of `bits` bits, the low ones of what it returns, and is made from any
// 64-bit seed.
template <class E>
concept engine = std::constructible_from<E, std::uint64_t> && requires(E& engine) {
  { engine() } -> std::same_as<std::uint64_t>;
  { E::name } -> std::convertible_to<std::string_view>;         // as experiments name it
  { E::description } -> std::convertible_to<std::string_view>;  // a few words, with its source
  { E::state_bits } -> std::convertible_to<int>;  // 0: it has no state of its own (hardware)
  { E::bits } -> std::convertible_to<int>;        // of each draw, 1 to 64
};

// Which engine draws, and in which way.
struct engine_choice {
  std::string name = "xoshiro256pp";
  std::optional<std::uint64_t> array{};         // numbers drawn beforehand, over and over again
  std::optional<std::uint64_t> reseed_every{};  // numbers between two draws of new entropy

  friend bool operator==(const engine_choice&, const engine_choice&) = default;
};

// An engine that does not exist, or that this processor does not have.
class unknown_engine : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A stream of random numbers, for one thread.
class number_source {
 public:
  number_source() = default;
  number_source(const number_source&) = delete;
  number_source& operator=(const number_source&) = delete;
  virtual ~number_source() = default;

  // Replaces `numbers` by the next ones. The stream does not depend on how it is divided into
  // calls.
  virtual void fill(std::span<std::uint64_t> numbers) = 0;

  // Random bits of each number, its low ones.
  [[nodiscard]] virtual int bits() const { return 64; }
};

// The stream of `seed` of the chosen engine, with the bits that the engine draws. Throws
// unknown_engine.
[[nodiscard]] std::unique_ptr<number_source> make_number_source(const engine_choice& choice,
                                                                std::uint64_t seed);

// The same stream as numbers of 64 bits: of an engine with fewer, as many draws are joined as it
// takes, the first in the lowest bits.
[[nodiscard]] std::unique_ptr<number_source> make_wide_number_source(const engine_choice& choice,
                                                                     std::uint64_t seed);

// What is known of an engine before any number is drawn.
struct engine_facts {
  std::string_view name;
  std::string_view description;
  int state_bits;
  int bits;
  bool available;   // on this processor
  bool replayable;  // the same seed gives the same numbers, if one thread draws them
  bool shared;      // all threads of a process draw from one state
};

// Every engine, the default first.
[[nodiscard]] std::span<const engine_facts> engines();

}  // namespace assay::random

#endif  // ASSAY_RANDOM_ENGINE_H_
