// Fixtures of a known length, for the comparison with Google Benchmark (benchmarks/run.py
// fixtures).

#include "assay/fixture/fixture.h"
#include "benchmarks/timed_body.h"

namespace {

struct empty {
  void run() {}
};

template <unsigned steps>
struct body {
  void run() { timed_body(steps); }
};

using assay::fixture::registered;
const registered<empty> nothing{"empty", "an empty body"};
const registered<body<steps_of_10_ns>> ten_ns{"body_10_ns", "a body of about 10 ns"};
const registered<body<steps_of_1_us>> one_us{"body_1_us", "a body of about 1 us"};
const registered<body<steps_of_100_us>> hundred_us{"body_100_us", "a body of about 100 us"};

}  // namespace
