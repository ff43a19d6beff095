// How an engine of a program's own is drawn from by its name, as those of this library are.
//
//     #include "assay/random/registered_engine.h"
//
//     class my_engine {
//      public:
//       static constexpr std::string_view name = "my_engine";
//       static constexpr std::string_view description = "what it is, in a few words";
//       static constexpr std::string_view source = "who published it, and when";
//       static constexpr int state_bits = 64;
//       static constexpr int bits = 64;  // of each number, its low ones
//       explicit my_engine(std::uint64_t seed);
//       std::uint64_t operator()();
//     };
//     static const assay::random::registered_engine<my_engine> registered;
//
// Linked into a program with assay::trial, its trials take `engine = "my_engine"`, its option
// --engines lists it, and --draw my_engine writes its numbers for `assay lab engines --program`.

#ifndef ASSAY_RANDOM_REGISTERED_ENGINE_H_
#define ASSAY_RANDOM_REGISTERED_ENGINE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "assay/random/engine.h"
#include "assay/random/engines.h"
#include "assay/random/entropy.h"
#include "assay/random/widened.h"

namespace assay::random {

// Makes a source of a choice, a seed, and where new entropy comes from.
using source_maker = std::function<std::unique_ptr<number_source>(
    const engine_choice&, std::uint64_t, std::shared_ptr<entropy>)>;

namespace detail {

// An engine's stream in blocks, one number after the other.
template <class Engine>
class one_by_one {
 public:
  explicit one_by_one(std::uint64_t seed) : engine_(seed) {}

  // A local copy of the state stays in registers; the member would be written back after every
  // number, as the compiler cannot know that the block does not overlap it. A state that no
  // registers hold (mt19937_64's 2.5 KB) would only be copied twice.
  void fill(std::span<std::uint64_t> numbers) {
    if constexpr (sizeof(Engine) <= 64) {
      Engine engine = engine_;
      for (auto& number : numbers) number = engine();
      engine_ = engine;
    } else {
      for (auto& number : numbers) number = engine_();
    }
  }

 private:
  Engine engine_;
};

// Some engines fill blocks themselves, faster.
template <class Engine>
concept filling =
    requires(Engine& engine, std::span<std::uint64_t> numbers) { engine.fill(numbers); };
template <class Engine>
using stream_of = std::conditional_t<filling<Engine>, Engine, one_by_one<Engine>>;

// A stream that starts anew, from new entropy, after a given count of numbers.
template <class Stream>
class reseeded {
 public:
  reseeded(std::uint64_t seed, std::uint64_t every, std::shared_ptr<entropy> fresh)
      : stream_(seed), every_(every), left_(every), fresh_(std::move(fresh)) {}

  void fill(std::span<std::uint64_t> numbers) {
    while (!numbers.empty()) {
      if (left_ == 0) reseed();
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, numbers.size()));
      stream_.fill(numbers.first(size));
      numbers = numbers.subspan(size);
      left_ -= size;
    }
  }

 private:
  // Masked by the stream's own next number, a seed is no worse than the better of the two.
  void reseed() {
    std::array<std::uint64_t, 1> own{};
    stream_.fill(own);
    stream_ = Stream(own[0] ^ fresh_->draw());
    left_ = every_;
  }

  Stream stream_;
  std::uint64_t every_;
  std::uint64_t left_;  // until the next reseeding
  std::shared_ptr<entropy> fresh_;
};

template <class Stream>
class in_place final : public number_source {
 public:
  template <class... From>
  explicit in_place(int bits, From&&... from) : stream_(std::forward<From>(from)...), bits_(bits) {}

  void fill(std::span<std::uint64_t> numbers) override { stream_.fill(numbers); }
  [[nodiscard]] int bits() const override { return bits_; }

 private:
  Stream stream_;
  int bits_;
};

// A source of `Engine`'s numbers, drawn as they are asked for.
template <class Engine>
std::unique_ptr<number_source> make_in_place(int bits, const engine_choice& choice,
                                             std::uint64_t seed, std::shared_ptr<entropy> fresh) {
  using stream = stream_of<Engine>;
  if (!choice.reseed_every) return std::make_unique<in_place<stream>>(bits, seed);
  return std::make_unique<in_place<reseeded<stream>>>(bits, seed, *choice.reseed_every,
                                                      std::move(fresh));
}

template <class E>
std::unique_ptr<number_source> make_narrow(const engine_choice& choice, std::uint64_t seed,
                                           std::shared_ptr<entropy> fresh) {
  return make_in_place<E>(E::bits, choice, seed, std::move(fresh));
}

template <class E>
std::unique_ptr<number_source> make_wide(const engine_choice& choice, std::uint64_t seed,
                                         std::shared_ptr<entropy> fresh) {
  if constexpr (E::bits == 64) {
    return make_narrow<E>(choice, seed, std::move(fresh));
  } else {
    return make_in_place<widened<E>>(64, choice, seed, std::move(fresh));
  }
}

}  // namespace detail

// Adds an engine: of numbers with its own bits, and of 64. Before main(), or while no other thread
// draws. Throws std::logic_error if there is one of that name.
void register_engine(const engine_facts& engine, source_maker narrow, source_maker wide);

// Registers `E` when constructed, which is meant to happen before main().
template <engine E>
class registered_engine {
 public:
  registered_engine() {
    register_engine(facts_of<E>(), detail::make_narrow<E>, detail::make_wide<E>);
  }
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_REGISTERED_ENGINE_H_
