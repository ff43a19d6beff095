// The engines as types of a typed test.

#ifndef ASSAY_RANDOM_ENGINES_TEST_TYPES_H_
#define ASSAY_RANDOM_ENGINES_TEST_TYPES_H_

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "assay/random/engines.h"

namespace assay::random {

template <class... A, class... B>
engine_list<A..., B...> operator+(engine_list<A...>, engine_list<B...>);

// Those that draw the same numbers again from the same seed, whatever the process drew before.
template <class E>
inline constexpr bool is_seeded = E::state_bits > 0 && !is_shared<E>;
template <class... Engines>
auto only_seeded(engine_list<Engines...>)
    -> decltype((std::conditional_t<is_seeded<Engines>, engine_list<Engines>, engine_list<>>{} +
                 ...));
using every_seeded_engine = decltype(only_seeded(every_engine{}));

template <class... Engines>
::testing::Types<Engines...> as_types(engine_list<Engines...>);
using every_engine_as_types = decltype(as_types(every_engine{}));
using every_seeded_engine_as_types = decltype(as_types(every_seeded_engine{}));

struct engine_names {
  template <class Engine>
  static std::string GetName(int /*index*/) {
    return std::string(Engine::name);
  }
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_ENGINES_TEST_TYPES_H_
