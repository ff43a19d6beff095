// Every engine, as one list of types: the catalogue, the factory and the tests are made from it,
// and none of them can know an engine that the others do not.
//
//     [&]<class... Engines>(engine_list<Engines...>) { (print(facts_of<Engines>()), ...); }(
//         every_engine());
//
// Each engine has a header of its own, with what it is, who published it and how it is seeded. All
// are used alike, as engine.h says:
//
//     assay::random::pcg64 engine(seed);         // one thread's
//     const std::uint64_t number = engine();
//
// Drawing neither allocates nor waits, but for c_rand, whose threads share a lock, and throws
// nothing, but for rdrand. satellites/lab/docs/engines.md shows what a number of each costs.

#ifndef ASSAY_RANDOM_ENGINES_H_
#define ASSAY_RANDOM_ENGINES_H_

#include "assay/random/c_rand.h"
#include "assay/random/engine.h"
#include "assay/random/fnv1a.h"
#include "assay/random/kiss64.h"
#include "assay/random/lcg64.h"
#include "assay/random/mm2.h"
#include "assay/random/mm3.h"
#include "assay/random/mrg32k3a.h"
#include "assay/random/mt19937_64.h"
#include "assay/random/pcg64.h"
#include "assay/random/rdrand.h"
#include "assay/random/wyrand.h"
#include "assay/random/xorshift64s.h"
#include "assay/random/xoshiro256pp_lanes.h"
#include "assay/random/xoshiro256ss.h"

namespace assay::random {

template <engine... Engines>
struct engine_list {};

// The default first, the bad examples last.
using every_engine = engine_list<xoshiro256pp_lanes, xoshiro256ss, pcg64, wyrand, xorshift64s, mm2,
                                 mm3, mt19937_64, mrg32k3a, kiss64, rdrand, c_rand, lcg64, fnv1a>;

// Whether all instances of an engine draw from one state.
template <engine E>
inline constexpr bool is_shared = requires { requires E::shared; };

// What is known of one of them.
template <engine E>
[[nodiscard]] engine_facts facts_of() {
  const bool available = [] {
    if constexpr (requires { E::available(); }) return E::available();
    return true;
  }();
  return {.name = E::name,
          .description = E::description,
          .source = E::source,
          .state_bits = E::state_bits,
          .bits = E::bits,
          .available = available,
          .replayable = E::state_bits > 0,
          .shared = is_shared<E>};
}

}  // namespace assay::random

#endif  // ASSAY_RANDOM_ENGINES_H_
