#include <array>

#include "assay/random/engine.h"
#include "assay/random/xoshiro256pp_lanes.h"

namespace assay::random {
namespace {

template <class Engine>
class in_place final : public number_source {
 public:
  explicit in_place(std::uint64_t seed) : engine_(seed) {}

  void fill(std::span<std::uint64_t> numbers) override {
    if constexpr (requires { engine_.fill(numbers); }) {
      engine_.fill(numbers);  // an engine that fills blocks faster than number by number
    } else {
      Engine engine = engine_;
      for (auto& number : numbers) number = engine();
      engine_ = engine;
    }
  }

 private:
  Engine engine_;
};

constexpr std::array<engine_facts, 1> all{
    {{"xoshiro256pp", "xoshiro256++ (Blackman and Vigna 2021)", 256, 64, true, true, false}}};

}  // namespace

std::unique_ptr<number_source> make_number_source(const engine_choice& choice, std::uint64_t seed) {
  if (choice.name != all[0].name)
    throw unknown_engine("there is no engine \"" + choice.name + "\"");
  return std::make_unique<in_place<xoshiro256pp_lanes>>(seed);
}

std::unique_ptr<number_source> make_wide_number_source(const engine_choice& choice,
                                                       std::uint64_t seed) {
  return make_number_source(choice, seed);
}

std::span<const engine_facts> engines() { return all; }

}  // namespace assay::random
