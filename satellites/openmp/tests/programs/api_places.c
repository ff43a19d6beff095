// OMP_PLACES and OMP_PROC_BIND: where threads are, by what the runtime says and by the system.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>

#include "api_check.h"

static void check_bound(void) {
  const int place = omp_get_place_num();
  cpu_set_t allowed;
  CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  const int processors = omp_get_place_num_procs(place);
  int ids[64];
  CHECK(processors >= 1 && processors <= 64);
  omp_get_place_proc_ids(place, ids);
  CHECK_EQUAL(CPU_COUNT(&allowed), processors);
  for (int i = 0; i < processors; ++i) CHECK(CPU_ISSET(ids[i], &allowed));
}

static void check_close(int places) {
  CHECK_EQUAL(omp_get_proc_bind(), omp_proc_bind_close);
#pragma omp parallel num_threads(places)
  {
    CHECK_EQUAL(omp_get_place_num(), omp_get_thread_num());
    CHECK_EQUAL(omp_get_partition_num_places(), places);
    check_bound();
  }
  // Twice as many threads as places: two at each.
#pragma omp parallel num_threads(2 * places)
  {
    CHECK_EQUAL(omp_get_place_num(), omp_get_thread_num() / 2);
    check_bound();
  }
#pragma omp parallel num_threads(places) proc_bind(master)
  {
    CHECK_EQUAL(omp_get_place_num(), 0);
    check_bound();
  }
#pragma omp parallel num_threads(places) proc_bind(spread)
  {
    CHECK_EQUAL(omp_get_place_num(), omp_get_thread_num());
    CHECK_EQUAL(omp_get_partition_num_places(), 1);
    int numbers[1];
    omp_get_partition_place_nums(numbers);
    CHECK_EQUAL(numbers[0], omp_get_place_num());
    check_bound();
    const int mine = omp_get_place_num();
#pragma omp parallel num_threads(3) proc_bind(close)
    {
      CHECK_EQUAL(omp_get_place_num(), mine);
      check_bound();
    }
  }
  CHECK_EQUAL(omp_get_place_num(), 0);
  check_bound();
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count == 1) {
    // Each processor that we may use is a place.
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    char places[1024] = "OMP_PLACES=";
    int found = 0;
    for (int each = 0; each < CPU_SETSIZE && found < 8; ++each) {
      if (!CPU_ISSET(each, &allowed)) continue;
      snprintf(places + strlen(places), sizeof places - strlen(places), "%s{%d}",
               found == 0 ? "" : ",", each);
      ++found;
    }
    char* listed[] = {places, "OMP_PROC_BIND=close", "OMP_MAX_ACTIVE_LEVELS=3", NULL};
    run_again("listed", listed, NULL, 0);
    char* kinds[] = {"threads", "cores", "sockets"};
    for (int i = 0; i < 3; ++i) {
      char kind[64];
      snprintf(kind, sizeof kind, "OMP_PLACES=%s", kinds[i]);
      char* named[] = {kind, "OMP_PROC_BIND=close", "OMP_MAX_ACTIVE_LEVELS=3", NULL};
      run_again("named", named, NULL, 0);
    }
    char* unbound[] = {"OMP_PLACES=threads", "OMP_PROC_BIND=false", NULL};
    run_again("unbound", unbound, NULL, 0);
    return 0;
  }
  if (strcmp(arguments[1], "unbound") == 0) {
    CHECK_EQUAL(omp_get_num_places(), 0);
    CHECK_EQUAL(omp_get_place_num(), -1);
    CHECK_EQUAL(omp_get_proc_bind(), omp_proc_bind_false);
#pragma omp parallel num_threads(2) proc_bind(close)
    CHECK_EQUAL(omp_get_place_num(), -1);
    return 0;
  }
  const int places = omp_get_num_places();
  CHECK(places >= 1);
  CHECK_EQUAL(omp_get_place_num_procs(-1), 0);
  CHECK_EQUAL(omp_get_place_num_procs(places), 0);
  CHECK_EQUAL(omp_get_partition_num_places(), places);
  check_bound();
  check_close(places);
  return 0;
}
