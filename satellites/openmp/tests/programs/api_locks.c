// Locks and nestable locks: one thread at a time, and the second belong to tasks.
#include <omp.h>

#include "api_check.h"

enum { threads = 4, rounds = 20000 };

int main(void) {
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  long plain = 0, nested = 0, tested = 0;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < rounds; ++i) {
    omp_set_lock(&lock);
    ++plain;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    ++nested;
    omp_unset_nest_lock(&nest);
    ++nested;
    omp_unset_nest_lock(&nest);
    if (omp_test_lock(&lock)) {
      ++plain;
      omp_unset_lock(&lock);
#pragma omp atomic
      ++tested;
    }
  }
  CHECK_EQUAL(plain, (long)threads * rounds + tested);
  CHECK_EQUAL(nested, 2L * threads * rounds);

  omp_set_lock(&lock);
  CHECK_EQUAL(omp_test_lock(&lock), 0);
#pragma omp parallel num_threads(2)
  CHECK_EQUAL(omp_test_lock(&lock), 0);
  omp_unset_lock(&lock);
  CHECK_EQUAL(omp_test_lock(&lock), 1);
  omp_unset_lock(&lock);

  CHECK_EQUAL(omp_test_nest_lock(&nest), 1);
  CHECK_EQUAL(omp_test_nest_lock(&nest), 2);
  omp_set_nest_lock(&nest);
  CHECK_EQUAL(omp_test_nest_lock(&nest), 4);
#pragma omp task if (0)
  CHECK_EQUAL(omp_test_nest_lock(&nest), 0);  // another task
  for (int i = 0; i < 4; ++i) omp_unset_nest_lock(&nest);
#pragma omp task if (0)
  {
    CHECK_EQUAL(omp_test_nest_lock(&nest), 1);
    omp_unset_nest_lock(&nest);
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
  return 0;
}
