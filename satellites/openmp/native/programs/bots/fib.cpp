// BOTS fib (Duran et al. 2009): Fibonacci's numbers by recursion, a task for each call. It measures
// how cheap a task is.
//
//   fib [N [DEPTH]]      20; tasks down to DEPTH (0: all the way). The paper has 48, BOTS depth 10

#include <limits>

#include "program.h"

namespace {

long alone(long n) { return n < 2 ? n : alone(n - 1) + alone(n - 2); }

long fib(long n, long depth) {
  if (n < 2) return n;
  if (depth == 0) return alone(n);
  long one = 0;
  long other = 0;
#pragma omp task shared(one) firstprivate(n, depth)
  one = fib(n - 1, depth - 1);
#pragma omp task shared(other) firstprivate(n, depth)
  other = fib(n - 2, depth - 1);
#pragma omp taskwait
  return one + other;
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const long n = given.next("N", 20, 0, 90);
  const long depth = given.next("DEPTH", 0, 0, 90);
  given.end();
  long result = 0;
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    result = fib(n, depth == 0 ? std::numeric_limits<long>::max() : depth);
  });
  long expected = 0;
  long next = 1;
  for (long i = 0; i < n; ++i) {
    const long sum = expected + next;
    expected = next;
    next = sum;
  }
  return program::finish(result == expected, seconds);
}
