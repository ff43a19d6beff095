// The internal control variables, and who is where in nested regions.
#include <omp.h>

#include "api_check.h"

static void check_schedule(omp_sched_t kind, int chunk, omp_sched_t kept, int kept_chunk) {
  omp_sched_t kind_found;
  int chunk_found;
  omp_set_schedule(kind, chunk);
  omp_get_schedule(&kind_found, &chunk_found);
  CHECK_EQUAL((unsigned)kind_found, (unsigned)kept);
  CHECK_EQUAL(chunk_found, kept_chunk);
}

int main(void) {
  CHECK_EQUAL(omp_get_level(), 0);
  CHECK_EQUAL(omp_get_active_level(), 0);
  CHECK_EQUAL(omp_in_parallel(), 0);
  CHECK_EQUAL(omp_get_num_threads(), 1);
  CHECK_EQUAL(omp_get_thread_num(), 0);
  CHECK_EQUAL(omp_get_team_size(0), 1);
  CHECK_EQUAL(omp_get_ancestor_thread_num(0), 0);
  CHECK_EQUAL(omp_get_team_size(1), -1);
  CHECK_EQUAL(omp_get_ancestor_thread_num(-1), -1);
  CHECK_EQUAL(omp_in_final(), 0);
  CHECK(omp_get_wtick() > 0 && omp_get_wtick() < 1);
  const double start = omp_get_wtime();
  CHECK(omp_get_wtime() >= start);

  check_schedule(omp_sched_static, 0, omp_sched_static, 0);
  check_schedule(omp_sched_static, -5, omp_sched_static, 0);
  check_schedule(omp_sched_dynamic, 0, omp_sched_dynamic, 1);
  check_schedule((omp_sched_t)(omp_sched_guided | omp_sched_monotonic), 7,
                 (omp_sched_t)(omp_sched_guided | omp_sched_monotonic), 7);
  check_schedule((omp_sched_t)99, 3, (omp_sched_t)(omp_sched_guided | omp_sched_monotonic), 7);

  omp_set_num_threads(-1);
  CHECK_EQUAL(omp_get_max_threads(), 1);
  omp_set_num_threads(3);
  CHECK_EQUAL(omp_get_max_threads(), 3);
  omp_set_dynamic(1);
  CHECK_EQUAL(omp_get_dynamic(), 1);
  omp_set_dynamic(0);
  CHECK_EQUAL(omp_get_dynamic(), 0);
  omp_set_max_active_levels(100000);
  CHECK_EQUAL(omp_get_max_active_levels(), omp_get_supported_active_levels());
  omp_set_max_active_levels(-1);
  CHECK_EQUAL(omp_get_max_active_levels(), omp_get_supported_active_levels());
  omp_set_max_active_levels(2);
  CHECK_EQUAL(omp_get_nested(), 1);
  omp_set_default_device(-2);
  CHECK_EQUAL(omp_get_default_device(), 0);
  CHECK_EQUAL(omp_get_num_devices(), 0);
  CHECK_EQUAL(omp_is_initial_device(), 1);
  CHECK_EQUAL(omp_get_device_num(), omp_get_initial_device());

  int seen[3][2] = {{0}};
#pragma omp parallel
  {
    CHECK_EQUAL(omp_get_num_threads(), 3);
    CHECK_EQUAL(omp_in_parallel(), 1);
    const int outer = omp_get_thread_num();
    // A variable of the task's own.
    omp_set_num_threads(2 + outer);
    CHECK_EQUAL(omp_get_max_threads(), 2 + outer);
#pragma omp parallel num_threads(2)
    {
      CHECK_EQUAL(omp_get_level(), 2);
      CHECK_EQUAL(omp_get_active_level(), 2);
      CHECK_EQUAL(omp_get_ancestor_thread_num(1), outer);
      CHECK_EQUAL(omp_get_ancestor_thread_num(2), omp_get_thread_num());
      CHECK_EQUAL(omp_get_team_size(1), 3);
      CHECK_EQUAL(omp_get_team_size(2), 2);
      CHECK_EQUAL(omp_get_team_size(0), 1);
      CHECK_EQUAL(omp_get_nested(), 0);
      CHECK_EQUAL(omp_get_max_threads(), 2 + outer);
      ++seen[outer][omp_get_thread_num()];
#pragma omp parallel num_threads(4)
      {
        CHECK_EQUAL(omp_get_num_threads(), 1);  // two active levels are all
        CHECK_EQUAL(omp_get_level(), 3);
        CHECK_EQUAL(omp_get_active_level(), 2);
      }
    }
#pragma omp parallel if (0)
    {
      CHECK_EQUAL(omp_get_level(), 2);
      CHECK_EQUAL(omp_get_active_level(), 1);
      CHECK_EQUAL(omp_get_num_threads(), 1);
    }
#pragma omp task final(1)
    {
      CHECK_EQUAL(omp_in_final(), 1);
    }
  }
  for (int i = 0; i < 3; ++i) CHECK(seen[i][0] == 1 && seen[i][1] == 1);
  CHECK_EQUAL(omp_get_max_threads(), 3);
  CHECK_EQUAL(omp_get_level(), 0);

  omp_set_max_active_levels(0);
#pragma omp parallel num_threads(4)
  CHECK_EQUAL(omp_get_num_threads(), 1);
  CHECK_EQUAL(omp_pause_resource_all(omp_pause_soft), 0);
  omp_set_max_active_levels(1);
  int count = 0;
#pragma omp parallel num_threads(4) reduction(+ : count)
  {
    CHECK(omp_pause_resource(omp_pause_soft, omp_get_initial_device()) != 0);
    ++count;
  }
  CHECK_EQUAL(count, 4);
  return 0;
}
