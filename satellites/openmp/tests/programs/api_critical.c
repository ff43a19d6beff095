// Critical sections with and without a name, in each other, and atomic constructs that need a lock.
#include <omp.h>

#include "api_check.h"

enum { threads = 4, rounds = 20000 };

int main(int count, char** arguments) {
  long unnamed = 0, one = 0, both = 0;
  long double sum = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < rounds; ++i) {
#pragma omp critical
    ++unnamed;
#pragma omp critical(one)
    ++one;
#pragma omp critical(one)
    {
#pragma omp critical(other)
      ++both;
    }
#pragma omp atomic
    sum += 1;
  }
  CHECK_EQUAL(unnamed, (long)threads * rounds);
  CHECK_EQUAL(one, (long)threads * rounds);
  CHECK_EQUAL(both, (long)threads * rounds);
  CHECK_EQUAL(sum, (long)threads * rounds);
  if (count > 1) return 0;
  (void)arguments;
  // The same in each way of ours, which others do not know.
  const char* const ways[] = {"none", "elision", "backoff"};
  for (int i = 0; i < 3; ++i) {
    char way[64];
    snprintf(way, sizeof way, "ASSAY_OMP_CRITICAL=%s", ways[i]);
    char* variables[] = {way, NULL};
    run_again(ways[i], variables, NULL, 0);
  }
  return 0;
}
