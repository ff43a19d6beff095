// Threads of the program's own that use OpenMP and end: what they leave serves those that come
// later, so that the process does not grow.
#include <dirent.h>
#include <omp.h>
#include <pthread.h>

#include "api_check.h"

static int threads_now(void) {
  DIR* const all = opendir("/proc/self/task");
  CHECK(all != NULL);
  int count = 0;
  for (const struct dirent* each; (each = readdir(all)) != NULL;) count += each->d_name[0] != '.';
  closedir(all);
  return count;
}

static void* work(void* result) {
  CHECK_EQUAL(omp_get_thread_num(), 0);
  CHECK_EQUAL(omp_get_level(), 0);
  int singles = 0;
#pragma omp single
  ++singles;
  CHECK_EQUAL(singles, 1);
  int count = 0;
#pragma omp parallel num_threads(3) reduction(+ : count)
  {
    ++count;
#pragma omp single
    ++singles;
  }
  CHECK_EQUAL(singles, 2);
  *(int*)result = count;
  return NULL;
}

int main(void) {
  int first = 0;
  for (int round = 0; round < 50; ++round) {
    pthread_t own[2];
    int counts[2] = {0};
    for (int i = 0; i < 2; ++i) CHECK(pthread_create(&own[i], NULL, work, &counts[i]) == 0);
    for (int i = 0; i < 2; ++i) CHECK(pthread_join(own[i], NULL) == 0);
    CHECK(counts[0] == 3 && counts[1] == 3);
    if (round == 4) first = threads_now();
  }
  CHECK(threads_now() <= first + 4);
  int count = 0;
#pragma omp parallel num_threads(4) reduction(+ : count)
  ++count;
  CHECK_EQUAL(count, 4);
  return 0;
}
