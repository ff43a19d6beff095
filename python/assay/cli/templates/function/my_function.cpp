// A function of yours beside a reference version of it. Replace both: assay/fixture/inspected.h
// says what they may be, and assay/fixture/inputs.h how their arguments are drawn.
#include <cstdint>
#include <string>
#include <tuple>

#include "assay/fixture/inspected.h"

// How many decimal digits a number has.
static int my_function(std::uint32_t number) {
  if (number >= 100'000) {
    if (number >= 10'000'000) return 8 + (number >= 100'000'000) + (number >= 1'000'000'000);
    return 6 + (number >= 1'000'000);
  }
  if (number >= 1'000) return 4 + (number >= 10'000);
  return 1 + (number >= 10) + (number >= 100);
}

static int my_function_reference(std::uint32_t number) {
  return static_cast<int>(std::to_string(number).size());
}

static const assay::fixture::inspected<my_function, my_function_reference,
                                       [](assay::fixture::inputs& draw) {
                                         return std::tuple(draw.between(0U, ~0U));
                                       }>
    here{"my_function", "decimal digits of a number"};
