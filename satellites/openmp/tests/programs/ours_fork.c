// fork outside of regions and inside of them: a child has the thread that forked, alone in its
// team. gcc's runtime does not survive this.
#include <omp.h>

#include "api_check.h"

static int count_threads(int wanted) {
  int count = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : count)
  ++count;
  return count;
}

static void check_end(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQUAL(status, 0);
}

int main(void) {
  CHECK_EQUAL(count_threads(4), 4);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      CHECK_EQUAL(count_threads(4), 4);
      CHECK_EQUAL(count_threads(2), 2);
      _exit(0);
    }
    check_end(child);
    CHECK_EQUAL(count_threads(4), 4);
  }
  const pid_t parent = getpid();
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
  {
    const pid_t child = fork();
    if (child == 0) {
      CHECK_EQUAL(omp_get_num_threads(), 1);
      CHECK_EQUAL(omp_get_thread_num(), 0);
      CHECK_EQUAL(omp_get_level(), 1);
#pragma omp barrier
      CHECK_EQUAL(count_threads(3), 3);
    } else {
      check_end(child);
    }
#pragma omp barrier
  }
  // A child of the master comes here; that of another thread has ended with its thread.
  if (getpid() != parent) {
    CHECK_EQUAL(count_threads(4), 4);
    return 0;
  }
  CHECK_EQUAL(count_threads(4), 4);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
  {
    const pid_t child = fork();
    if (child != 0) check_end(child);
  }
  CHECK_EQUAL(count_threads(3), 3);
  return 0;
}
