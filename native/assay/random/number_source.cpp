#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/input/edit_distance.h"
#include "assay/random/engine.h"
#include "assay/random/engines.h"
#include "assay/random/registered_engine.h"
#include "assay/random/splitmix64.h"

namespace assay::random {
namespace {

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

// Facts and makers of every engine, in the same order: this library's, then those that a program
// adds.
struct catalogue_of_all {
  std::vector<engine_facts> facts;
  std::vector<source_maker> narrow;
  std::vector<source_maker> wide;

  void add(const engine_facts& engine, source_maker of_its_bits, source_maker of_64_bits) {
    facts.push_back(engine);
    narrow.push_back(std::move(of_its_bits));
    wide.push_back(std::move(of_64_bits));
  }
};
template <class... Engines>
catalogue_of_all make_catalogue(engine_list<Engines...>) {
  catalogue_of_all all;
  (all.add(facts_of<Engines>(), detail::make_narrow<Engines>, detail::make_wide<Engines>), ...);
  return all;
}

catalogue_of_all& catalogue() {
  static auto all = make_catalogue(every_engine{});
  return all;
}

std::string quoted(std::string_view name) { return '"' + std::string(name) + '"'; }

// Numbers of an engine as entropy: of another stream than the one that it reseeds.
class drawn_entropy final : public entropy {
 public:
  drawn_entropy(const std::string& name, std::uint64_t seed)
      : numbers_(make_wide_number_source({.name = name}, derive_seed(seed, stream))), name_(name) {}

  std::uint64_t draw() override {
    std::array<std::uint64_t, 1> number{};
    numbers_->fill(number);
    return number[0];
  }
  [[nodiscard]] std::string source() const override { return name_; }

 private:
  static constexpr std::uint64_t stream = 0x7265'7365'6564;  // any that no thread has

  std::unique_ptr<number_source> numbers_;
  std::string name_;
};

std::shared_ptr<entropy> entropy_of(const engine_choice& choice, std::uint64_t seed,
                                    entropy& fresh) {
  if (choice.reseed_from.empty()) return {std::shared_ptr<void>(), &fresh};  // it is not owned
  if (std::shared_ptr<entropy> named = entropy_named(choice.reseed_from)) return named;
  return std::make_shared<drawn_entropy>(choice.reseed_from, seed);
}

template <class Makers>
std::unique_ptr<number_source> make(const Makers& makers, const engine_choice& choice,
                                    std::uint64_t seed, entropy& fresh) {
  const engine_facts& engine = find_engine(choice.name);
  check(choice, engine);
  const auto index = static_cast<std::size_t>(&engine - engines().data());
  auto source = makers[index](choice, seed, entropy_of(choice, seed, fresh));
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

void register_engine(const engine_facts& engine, source_maker narrow, source_maker wide) {
  if (std::ranges::find(engines(), engine.name, &engine_facts::name) != engines().end()) {
    throw std::logic_error("there are two engines " + quoted(engine.name));
  }
  catalogue().add(engine, std::move(narrow), std::move(wide));
}

const engine_facts& find_engine(std::string_view name) {
  const auto all = engines();
  const auto found = std::ranges::find(all, name, &engine_facts::name);
  if (found != all.end()) return *found;
  const auto distance = [&](const engine_facts& engine) {
    return input::edit_distance(name, engine.name);
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

namespace {

void check_entropy(const std::string& from) {
  if (from.empty() || entropy_named(from) != nullptr) return;
  if (from == "rdseed" || from == "rdrand") {
    throw std::invalid_argument("reseed_from: this processor does not have " + from +
                                "; use \"kernel\"");
  }
  const auto all = engines();
  const auto found = std::ranges::find(all, from, &engine_facts::name);
  if (found == all.end()) {
    throw std::invalid_argument("reseed_from: " + quoted(from) +
                                " is none of rdseed, rdrand, kernel, and no engine");
  }
  if (found->state_bits == 0 || found->shared) {
    throw std::invalid_argument("reseed_from: " + from +
                                " gives each thread no stream of its own; use another engine");
  }
}

}  // namespace

void check(const engine_choice& choice, const engine_facts& engine) {
  if (!engine.available) {
    throw unknown_engine("this processor does not have the engine " + quoted(engine.name));
  }
  const std::string name(engine.name);
  if (choice.array == 0) {
    throw std::invalid_argument("array: must hold at least one number; leave it out to draw " +
                                name + " in place");
  }
  if (!choice.reseed_every) {
    if (choice.reseed_from.empty()) return;
    throw std::invalid_argument("reseed_from: belongs to reseed_every; leave it out");
  }
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
  check_entropy(choice.reseed_from);
}

std::string not_replayable_because(const engine_choice& choice, unsigned threads) {
  const engine_facts& facts = find_engine(choice.name);
  if (!facts.replayable) return choice.name + " draws from the hardware, which takes no seed";
  if (choice.reseed_every) {
    const auto named = entropy_named(choice.reseed_from);
    if (choice.reseed_from.empty() || named != nullptr) {
      return choice.name + " is reseeded every " + std::to_string(*choice.reseed_every) +
             " numbers with entropy from " +
             (named == nullptr ? system_entropy() : *named).source();
    }
  }
  if (facts.shared && threads > 1) {
    return "all threads draw from the one state of " + choice.name +
           ", in whatever order they come";
  }
  return {};
}

}  // namespace assay::random
