#include <algorithm>
#include <array>
#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/input/edit_distance.h"
#include "assay/random/engine.h"
#include "assay/random/engines.h"
#include "assay/random/widened.h"

namespace assay::random {
namespace {

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
  reseeded(std::uint64_t seed, std::uint64_t every, entropy& fresh)
      : stream_(seed), every_(every), left_(every), fresh_(&fresh) {}

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
  entropy* fresh_;
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

class from_array final : public number_source {
 public:
  from_array(number_source& drawn_by, std::size_t size) : numbers_(size), bits_(drawn_by.bits()) {
    drawn_by.fill(numbers_);
  }

  void fill(std::span<std::uint64_t> numbers) override {
    while (!numbers.empty()) {
      const std::size_t size = std::min(numbers_.size() - next_, numbers.size());
      std::copy_n(numbers_.begin() + static_cast<std::ptrdiff_t>(next_), size, numbers.begin());
      numbers = numbers.subspan(size);
      next_ += size;
      if (next_ == numbers_.size()) next_ = 0;
    }
  }
  [[nodiscard]] int bits() const override { return bits_; }

 private:
  std::vector<std::uint64_t> numbers_;
  std::size_t next_ = 0;
  int bits_;
};

// A source of `Engine`'s numbers, drawn as they are asked for.
template <class Engine>
std::unique_ptr<number_source> make_in_place(int bits, const engine_choice& choice,
                                             std::uint64_t seed, entropy& fresh) {
  using stream = stream_of<Engine>;
  if (!choice.reseed_every) return std::make_unique<in_place<stream>>(bits, seed);
  return std::make_unique<in_place<reseeded<stream>>>(bits, seed, *choice.reseed_every, fresh);
}

using maker = std::unique_ptr<number_source> (*)(const engine_choice&, std::uint64_t, entropy&);

template <class E>
std::unique_ptr<number_source> make_narrow(const engine_choice& choice, std::uint64_t seed,
                                           entropy& fresh) {
  return make_in_place<E>(E::bits, choice, seed, fresh);
}

template <class E>
std::unique_ptr<number_source> make_wide(const engine_choice& choice, std::uint64_t seed,
                                         entropy& fresh) {
  if constexpr (E::bits == 64) {
    return make_narrow<E>(choice, seed, fresh);
  } else {
    return make_in_place<widened<E>>(64, choice, seed, fresh);
  }
}

// The catalogue: facts and makers of every engine, in the same order.
template <class... Engines>
struct catalogue_of {
  std::array<engine_facts, sizeof...(Engines)> facts{facts_of<Engines>()...};
  std::array<maker, sizeof...(Engines)> narrow{make_narrow<Engines>...};
  std::array<maker, sizeof...(Engines)> wide{make_wide<Engines>...};
};
template <class... Engines>
catalogue_of<Engines...> make_catalogue(engine_list<Engines...>) {
  return {};
}

const auto& catalogue() {
  static const auto all = make_catalogue(every_engine{});
  return all;
}

std::string quoted(std::string_view name) { return '"' + std::string(name) + '"'; }

template <class Makers>
std::unique_ptr<number_source> make(const Makers& makers, const engine_choice& choice,
                                    std::uint64_t seed, entropy& fresh) {
  const engine_facts& engine = find_engine(choice.name);
  check(choice, engine);
  const auto index = static_cast<std::size_t>(&engine - engines().data());
  auto source = makers[index](choice, seed, fresh);
  if (!choice.array) return source;
  return std::make_unique<from_array>(*source, *choice.array);
}

}  // namespace

std::unique_ptr<number_source> make_number_source(const engine_choice& choice, std::uint64_t seed,
                                                  entropy& fresh) {
  return make(catalogue().narrow, choice, seed, fresh);
}

std::unique_ptr<number_source> make_wide_number_source(const engine_choice& choice,
                                                       std::uint64_t seed, entropy& fresh) {
  return make(catalogue().wide, choice, seed, fresh);
}

std::span<const engine_facts> engines() { return catalogue().facts; }

const engine_facts& find_engine(std::string_view name) {
  const auto all = engines();
  const auto found = std::ranges::find(all, name, &engine_facts::name);
  if (found != all.end()) return *found;
  const auto distance = [&](const engine_facts& engine) {
    return edit_distance(name, engine.name);
  };
  const std::size_t nearest = std::ranges::min(all | std::views::transform(distance));
  std::string meant;
  for (const auto& engine : all) {
    if (distance(engine) != nearest) continue;
    if (!meant.empty()) meant += " or ";
    meant += quoted(engine.name);
  }
  throw unknown_engine("there is no engine " + quoted(name) + "; did you mean " + meant + "?");
}

void check(const engine_choice& choice, const engine_facts& engine) {
  if (!engine.available) {
    throw unknown_engine("this processor does not have the engine " + quoted(engine.name));
  }
  const std::string name(engine.name);
  if (choice.array == 0) {
    throw std::invalid_argument("array: must hold at least one number; leave it out to draw " +
                                name + " in place");
  }
  if (!choice.reseed_every) return;
  if (choice.reseed_every == 0) {
    throw std::invalid_argument("reseed_every: must be at least one number; leave it out to draw " +
                                name + " from one seed");
  }
  if (engine.state_bits == 0) {
    throw std::invalid_argument("reseed_every: " + name + " has no state to seed; leave it out");
  }
  if (engine.shared) {
    throw std::invalid_argument("reseed_every: all threads draw from the one state of " + name +
                                ", which none of them can seed anew; leave it out");
  }
}

std::string not_replayable_because(const engine_choice& choice, unsigned threads) {
  const engine_facts& facts = find_engine(choice.name);
  if (!facts.replayable) return choice.name + " draws from the hardware, which takes no seed";
  if (choice.reseed_every) {
    return choice.name + " is reseeded every " + std::to_string(*choice.reseed_every) +
           " numbers with entropy from " + system_entropy().source();
  }
  if (facts.shared && threads > 1) {
    return "all threads draw from the one state of " + choice.name +
           ", in whatever order they come";
  }
  return {};
}

}  // namespace assay::random
