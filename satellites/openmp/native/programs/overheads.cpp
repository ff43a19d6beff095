// What each construct of OpenMP costs, after the EPCC microbenchmarks (Bull 1999): nanoseconds for
// one construct, the median of some samples. Bull subtracts the time of the same work without the
// construct; here constructs hold nothing, or one addition, so that nothing is subtracted.
//
//   overheads [REPETITIONS [SAMPLES]]      100 and 5

#include <omp.h>

#include <algorithm>
#include <vector>

#include "program.h"

namespace {

long repetitions = 0;
long samples = 0;
bool right = true;

void expect(bool holds, const char* of) {
  if (holds) return;
  std::printf("%s: the result is wrong\n", of);
  right = false;
}

// An empty body that the compiler keeps.
void nothing() { asm volatile(""); }

// Prints what one of the constructs costs, of which `work` runs `constructs`.
template <class Work>
void measure(const char* name, long constructs, const Work& work) {
  std::vector<double> times;
  work();
  for (long i = 0; i < samples; ++i) times.push_back(program::seconds_of(work));
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  std::printf("%s_ns=%.2f\n", name,
              times[static_cast<std::size_t>(samples / 2)] * 1e9 / static_cast<double>(constructs));
}

// Every thread runs `construct` as often as asked.
template <class Construct>
void measure_inside(const char* name, long constructs, const Construct& construct) {
  measure(name, constructs, [&] {
#pragma omp parallel
    for (long i = 0; i < repetitions; ++i) construct();
  });
}

void loops(long threads) {
  const long iterations = threads * 128;
  measure_inside("for_static", repetitions, [=] {
#pragma omp for schedule(static)
    for (long i = 0; i < iterations; ++i) nothing();
  });
  measure_inside("for_static_chunk", repetitions, [=] {
#pragma omp for schedule(static, 8)
    for (long i = 0; i < iterations; ++i) nothing();
  });
  measure_inside("for_dynamic", repetitions, [=] {
#pragma omp for schedule(dynamic)
    for (long i = 0; i < iterations; ++i) nothing();
  });
  measure_inside("for_guided", repetitions, [=] {
#pragma omp for schedule(guided)
    for (long i = 0; i < iterations; ++i) nothing();
  });
  measure_inside("for_runtime", repetitions, [=] {
#pragma omp for schedule(runtime)
    for (long i = 0; i < iterations; ++i) nothing();
  });
}

void exclusion(long threads) {
  const long all = threads * repetitions;
  long sum = 0;
  measure_inside("critical", all, [&] {
#pragma omp critical
    ++sum;
  });
  expect(sum == (samples + 1) * all, "critical");
  double atomic_sum = 0;
  measure_inside("atomic", all, [&] {
#pragma omp atomic
    atomic_sum += 1;
  });
  expect(atomic_sum == static_cast<double>((samples + 1) * all), "atomic");
  long last = 0;
  measure("ordered", all, [&] {
    last = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (long i = 0; i < all; ++i) {
#pragma omp ordered
      last = last == i ? i + 1 : -1;
    }
  });
  expect(last == all, "ordered");
  measure("reduction", repetitions, [&] {
    for (long i = 0; i < repetitions; ++i) {
      long counted = 0;
#pragma omp parallel reduction(+ : counted)
      ++counted;
      expect(counted == threads, "reduction");
    }
  });
}

void tasks(long threads) {
  const long all = threads * repetitions;
  long run = 0;
  measure("task", all, [&] {
#pragma omp parallel
    for (long i = 0; i < repetitions; ++i) {
#pragma omp task
      nothing();
    }
  });
  measure("taskwait", all, [&] {
#pragma omp parallel reduction(+ : run)
    for (long i = 0; i < repetitions; ++i) {
      long mine = 0;
#pragma omp task shared(mine)
      mine = 1;
#pragma omp taskwait
      run += mine;
    }
  });
  expect(run == (samples + 1) * all, "taskwait");
  measure("taskloop", repetitions, [&] {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < repetitions; ++i) {
#pragma omp taskloop
      for (long j = 0; j < 128; ++j) nothing();
    }
  });
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  repetitions = given.next("REPETITIONS", 100, 1, 1'000'000);
  samples = given.next("SAMPLES", 5, 1, 1000);
  given.end();
  long threads = 1;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();

  measure("parallel", repetitions, [] {
    for (long i = 0; i < repetitions; ++i) {
#pragma omp parallel
      nothing();
    }
  });
  loops(threads);
  measure_inside("barrier", repetitions, [] {
#pragma omp barrier
  });
  measure_inside("single", repetitions, [] {
#pragma omp single
    nothing();
  });
  exclusion(threads);
  tasks(threads);
  return right ? 0 : 1;
}
