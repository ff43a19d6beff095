// The same bodies as fixture_overhead has, timed by Google Benchmark.

#include <benchmark/benchmark.h>

#include "benchmarks/timed_body.h"

namespace {

// With the barrier that a fixture has between its calls: without it gcc leaves out the loop.
void empty(benchmark::State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
}

template <unsigned steps>
void body(benchmark::State& state) {
  for (auto _ : state) timed_body(steps);
}

BENCHMARK(empty)->Name("empty");
BENCHMARK(body<steps_of_10_ns>)->Name("body_10_ns");
BENCHMARK(body<steps_of_1_us>)->Name("body_1_us");
BENCHMARK(body<steps_of_100_us>)->Name("body_100_us");

}  // namespace

BENCHMARK_MAIN();
