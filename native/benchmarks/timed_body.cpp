#include "benchmarks/timed_body.h"

#include <cstdint>

#include "assay/fixture/keep.h"

void timed_body(unsigned steps) {
  std::uint64_t x = 1;
  for (unsigned i = 0; i < steps; ++i) {
    x = x * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    asm volatile("" : "+r"(x));  // one step at a time
  }
  assay::fixture::keep(x);
}
