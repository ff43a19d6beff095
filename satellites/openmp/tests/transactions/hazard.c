// The hazard of listing 4.3 of Bonnichsen 2016: a thread that runs ahead of a barrier reads a
// pointer to a function before another thread has set it, and jumps to an instruction that commits
// transactions. It prints how often that happened.
#include <immintrin.h>
#include <omp.h>
#include <stdio.h>

enum { rounds = 600 };

static int too_early;

// What is in a program that uses transactions. Outside of one it must not be called, and never is by
// a thread that waits.
static void commit(void) {
  if (_xtest() != 0) _xend();
#pragma omp atomic
  ++too_early;
}
static void right(void) {}

static void (*volatile chosen)(void);

int main(void) {
#pragma omp parallel num_threads(2)
  for (int round = 0; round < rounds; ++round) {
#pragma omp single
    chosen = commit;
    if (omp_get_thread_num() == 0) {
      for (volatile int i = 0; i < 2000; ++i) continue;
      chosen = right;
    }
#pragma omp barrier
    chosen();
#pragma omp barrier
  }
  printf("%d times too early\n", too_early);
  return 0;
}
