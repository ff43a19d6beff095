// Goes on until a thread has run ahead of a barrier. `left` is when thread 0 left the barrier, `came`
// is when thread 1 came to it. A thread that waits leaves after the other has come.
#include <omp.h>
#include <stdio.h>
#include <x86intrin.h>

static struct {
  _Alignas(64) unsigned long long at;
} left, came;

static void work(unsigned long long cycles) {
  for (const unsigned long long start = __rdtsc(); __rdtsc() - start < cycles;) continue;
}

int main(void) {
  int round = 0;
  for (int ahead = 0; !ahead; ++round) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp barrier
      left.at = __rdtsc();
      work(1000000);
#pragma omp barrier
    } else {
      work(500000);
      came.at = __rdtsc();
#pragma omp barrier
#pragma omp barrier
    }
    ahead = left.at < came.at;
  }
  printf("a thread ran ahead in round %d\n", round);
  return 0;
}
