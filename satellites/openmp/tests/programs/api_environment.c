// What variables of the environment mean, and that wrong ones change nothing.
#include <omp.h>

#include "api_check.h"

static void check_schedule(unsigned kind, int chunk) {
  omp_sched_t found;
  int chunk_found;
  omp_get_schedule(&found, &chunk_found);
  CHECK_EQUAL((unsigned)found, kind);
  CHECK_EQUAL(chunk_found, chunk);
}

static void right(void) {
  CHECK_EQUAL(omp_get_max_threads(), 3);
  CHECK_EQUAL(omp_get_dynamic(), 1);
  CHECK_EQUAL(omp_get_max_active_levels(), 4);
  CHECK_EQUAL(omp_get_thread_limit(), 20);
  CHECK_EQUAL(omp_get_cancellation(), 1);
  CHECK_EQUAL(omp_get_max_task_priority(), 9);
  CHECK_EQUAL(omp_get_max_teams(), 5);
  CHECK_EQUAL(omp_get_teams_thread_limit(), 6);
  check_schedule(omp_sched_guided | omp_sched_monotonic, 12);
  char format[64];
  CHECK_EQUAL(omp_get_affinity_format(format, sizeof format), 8);
  CHECK(strcmp(format, "%n of %N") == 0);
  omp_set_dynamic(0);
#pragma omp parallel
  {
    CHECK_EQUAL(omp_get_num_threads(), 3);
#pragma omp parallel
    {
      CHECK_EQUAL(omp_get_num_threads(), 2);
#pragma omp parallel
      CHECK_EQUAL(omp_get_num_threads(), 2);
    }
  }
}

static void wrong(void) {
  CHECK_EQUAL(omp_get_max_threads(), omp_get_num_procs());
  CHECK_EQUAL(omp_get_dynamic(), 0);
  CHECK_EQUAL(omp_get_max_active_levels(), 1);
  CHECK_EQUAL(omp_get_thread_limit(), 2147483647);
  CHECK_EQUAL(omp_get_cancellation(), 0);
  CHECK_EQUAL(omp_get_max_task_priority(), 0);
  CHECK_EQUAL(omp_get_num_places(), 0);
  CHECK_EQUAL(omp_get_proc_bind(), omp_proc_bind_false);
  check_schedule(omp_sched_dynamic, 1);
#pragma omp parallel num_threads(2)
  CHECK_EQUAL(omp_get_num_threads(), 2);
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "right") == 0) {
    right();
  } else if (count > 1 && strcmp(arguments[1], "wrong") == 0) {
    wrong();
  } else if (count > 1 && strcmp(arguments[1], "lists") == 0) {
    CHECK_EQUAL(omp_get_max_active_levels(), omp_get_supported_active_levels());
    check_schedule(omp_sched_static | omp_sched_monotonic, 0);
  } else if (count == 1) {
    char* all[] = {"OMP_NUM_THREADS= 3 , 2", "OMP_DYNAMIC= True ", "OMP_MAX_ACTIVE_LEVELS=4",
                   "OMP_THREAD_LIMIT=20", "OMP_CANCELLATION=TRUE", "OMP_MAX_TASK_PRIORITY=9",
                   "OMP_NUM_TEAMS=5", "OMP_TEAMS_THREAD_LIMIT=6",
                   "OMP_SCHEDULE=monotonic : Guided , 12", "OMP_AFFINITY_FORMAT=%n of %N",
                   "OMP_STACKSIZE=2 M", "OMP_WAIT_POLICY=Passive", NULL};
    run_again("right", all, NULL, 0);
    char* none[] = {"OMP_NUM_THREADS=2,0", "OMP_DYNAMIC=yes", "OMP_MAX_ACTIVE_LEVELS=-1",
                    "OMP_THREAD_LIMIT=0", "OMP_CANCELLATION=2", "OMP_MAX_TASK_PRIORITY=high",
                    "OMP_SCHEDULE=dynamic,few", "OMP_STACKSIZE=2X", "OMP_WAIT_POLICY=maybe",
                    "OMP_PLACES=cupboards", "OMP_PROC_BIND=near", NULL};
    char errors[4096];
    run_again("wrong", none, errors, sizeof errors);
    for (char** each = none; *each != NULL; ++each) {
      char name[64];
      snprintf(name, sizeof name, "%.*s", (int)strcspn(*each, "="), *each);
      if (strstr(errors, name) == NULL) {
        fprintf(stderr, "nobody complained about %s; complaints:\n%s", *each, errors);
        return 1;
      }
    }
    char* lists[] = {"OMP_NUM_THREADS=2,2", "OMP_SCHEDULE=static", NULL};
    run_again("lists", lists, NULL, 0);
    char* shown[] = {"OMP_DISPLAY_ENV=true", "OMP_NUM_THREADS=2,2", "OMP_SCHEDULE=static", NULL};
    run_again("lists", shown, errors, sizeof errors);
    CHECK(strstr(errors, "OPENMP DISPLAY ENVIRONMENT BEGIN\n") != NULL);
    CHECK(strstr(errors, "  OMP_NUM_THREADS = '2,2'\n") != NULL);
    CHECK(strstr(errors, "  OMP_SCHEDULE = 'STATIC'\n") != NULL);
    CHECK(strstr(errors, "OPENMP DISPLAY ENVIRONMENT END\n") != NULL);
  }
  return 0;
}
