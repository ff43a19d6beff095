// OMP_THREAD_LIMIT: of a region, of all regions at a time, and for each thread of the program's own.
#include <omp.h>
#include <pthread.h>

#include "api_check.h"

static int count_threads(int wanted) {
  int count = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : count)
  ++count;
  return count;
}

static void* work(void* unused) {
  CHECK_EQUAL(count_threads(8), 5);
  return unused;
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count == 1) {
    char* variables[] = {"OMP_THREAD_LIMIT=5", "OMP_MAX_ACTIVE_LEVELS=2", NULL};
    run_again("limited", variables, NULL, 0);
    return 0;
  }
  CHECK_EQUAL(omp_get_thread_limit(), 5);
  for (int wanted = 1; wanted <= 8; ++wanted) {
    CHECK_EQUAL(count_threads(wanted), wanted < 5 ? wanted : 5);
  }
  int inner = 0;
#pragma omp parallel num_threads(3)
  {
    const int here = count_threads(3);
#pragma omp atomic
    inner += here - 1;  // besides the master
#pragma omp barrier
#pragma omp single
    CHECK(inner >= 0);
  }
  // Three are at work outside, and two more at any time inside.
  int most = 0, at_work = 0;
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(3)
  {
    int now;
#pragma omp atomic capture
    now = ++at_work;
#pragma omp critical
    if (now > most) most = now;
#pragma omp barrier
#pragma omp atomic
    --at_work;
  }
  CHECK(most <= 5);
  CHECK_EQUAL(count_threads(8), 5);
  pthread_t own;
  CHECK(pthread_create(&own, NULL, work, NULL) == 0);
  CHECK(pthread_join(own, NULL) == 0);
  return 0;
}
