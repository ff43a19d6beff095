// A trial draws its operations from random numbers. Engines differ in speed and in quality, and
// experiments compare them: so an engine is chosen at run time, by its name.
//
//     const auto numbers = assay::random::make_number_source({.name = "pcg64"}, seed);
//     std::array<std::uint64_t, 512> block;
//     numbers->fill(block);                     // the stream's next 512 numbers
//
// An engine is a small class in a header of its own, made from one 64-bit seed; engines.h lists
// them. A source draws from any of them: in place, from an array made beforehand, or reseeded now
// and then with new entropy. It costs one virtual call for each block of numbers.
//
// Streams. An engine fills its state from its seed by splitmix64, a number for each word of 64
// bits. (mt19937_64 is initialised as the standard says, c_rand once for the process, rdrand not at
// all.) Threads get seeds of their own from derive_seed, all different within a trial. Whether
// their streams meet depends on the size of the state. With 128 bits and more, no two ever will.
// Engines with 64 bits go through one cycle, or a few, of at most 2^64 numbers: if t threads draw n
// numbers each, two of them meet with a probability of about t^2 n / 2^64 (64 threads, 10^10
// numbers: 2 in a million).

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

#include "assay/random/entropy.h"

namespace assay::random {

// An engine draws numbers of `bits` bits, the low ones of what it returns, and is made from any
// 64-bit seed.
template <class E>
concept engine = std::constructible_from<E, std::uint64_t> && requires(E& engine) {
  { engine() } -> std::same_as<std::uint64_t>;
  { E::name } -> std::convertible_to<std::string_view>;         // as experiments name it
  { E::description } -> std::convertible_to<std::string_view>;  // a few words
  { E::source } -> std::convertible_to<std::string_view>;       // who published it, and when
  { E::state_bits } -> std::convertible_to<int>;  // 0: it has no state of its own (hardware)
  { E::bits } -> std::convertible_to<int>;        // of each draw, 1 to 64
  // It may also have `static bool available()`, where a processor may lack it, `static constexpr
  // bool shared = true`, if all its instances draw from one state, and `fill(numbers)`, if it draws
  // blocks faster than single numbers.
};

// Which engine draws, and in which way.
struct engine_choice {
  std::string name = "xoshiro256pp";
  // Numbers drawn beforehand, by each thread for itself, and then read over and over again. Each
  // takes 8 bytes: 10 million are 80 MB a thread, far more than caches hold.
  std::optional<std::uint64_t> array{};
  std::optional<std::uint64_t> reseed_every{};  // numbers from one draw of new entropy to the next
  // Where that entropy comes from: "rdseed", "rdrand", "kernel", or an engine, of which each source
  // has one of its own. Empty: whatever this machine has, see system_entropy().
  std::string reseed_from{};

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
  // calls. Allocates nothing, and waits for no other thread unless the engine is shared by all.
  // Throws std::runtime_error where the hardware draws (rdrand, or reseeding) and fails.
  virtual void fill(std::span<std::uint64_t> numbers) = 0;

  // Random bits of each number, its low ones.
  [[nodiscard]] virtual int bits() const { return 64; }
};

// The stream of `seed` of the chosen engine, with the bits that the engine draws.
//
// An array is drawn in here, so the source is made before anything is measured, by the thread that
// will read it: its memory is then near that thread. A reseeded engine is made anew, after exactly
// this many numbers, however they are divided into calls, from 64 bits of `fresh` masked by one
// more draw of the engine; an array of one is drawn once, reseeding.
//
// With `reseed_from`, entropy comes from there and not from `fresh`.
//
// Throws unknown_engine if there is no such engine or the processor lacks it, and
// std::invalid_argument for an array or an interval of 0, for reseeding an engine that has no
// state of its own, and for entropy that this machine does not have.
[[nodiscard]] std::unique_ptr<number_source> make_number_source(const engine_choice& choice,
                                                                std::uint64_t seed,
                                                                entropy& fresh = system_entropy());

// The same stream as numbers of 64 bits: of an engine with fewer, as many draws are joined as it
// takes, the first in the lowest bits. An array and an interval count these numbers.
[[nodiscard]] std::unique_ptr<number_source> make_wide_number_source(
    const engine_choice& choice, std::uint64_t seed, entropy& fresh = system_entropy());

// What is known of an engine before any number is drawn.
struct engine_facts {
  std::string_view name;
  std::string_view description;
  std::string_view source;
  int state_bits;
  int bits;
  bool available;   // on this processor
  bool replayable;  // the same seed gives the same numbers, if one thread draws them
  bool shared;      // all threads of a process draw from one state
};

// Every engine, the default first.
[[nodiscard]] std::span<const engine_facts> engines();

// The facts of one. Throws unknown_engine, which names those whose names are nearest.
[[nodiscard]] const engine_facts& find_engine(std::string_view name);

// Throws what make_number_source would throw for `choice` and the facts of its engine: for whoever
// reads a request, before anything is drawn.
void check(const engine_choice& choice, const engine_facts& engine);

// Why `threads` threads that draw from the chosen engine will not draw the same numbers again from
// the same seeds; empty if they will. Throws unknown_engine.
[[nodiscard]] std::string not_replayable_because(const engine_choice& choice, unsigned threads);
[[nodiscard]] inline bool replayable(const engine_choice& choice, unsigned threads) {
  return not_replayable_because(choice, threads).empty();
}

}  // namespace assay::random

#endif  // ASSAY_RANDOM_ENGINE_H_
