// Threads that cannot be started: the program goes on with fewer, and is told once. gcc's runtime
// ends the program.
#include <omp.h>
#include <sys/resource.h>

#include "api_check.h"

static int count_threads(int wanted) {
  int count = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : count)
  {
    ++count;
#pragma omp barrier
  }
  return count;
}

static long mapped_bytes(void) {
  FILE* const from = fopen("/proc/self/statm", "r");
  long pages = 0;
  CHECK(from != NULL && fscanf(from, "%ld", &pages) == 1);
  fclose(from);
  return pages * sysconf(_SC_PAGESIZE);
}

int main(int count, char** arguments) {
  char errors[4096];
  if (count == 1) {
    char* large[] = {"OMP_STACKSIZE=100000G", NULL};
    run_again("stack", large, errors, sizeof errors);
    CHECK(strstr(errors, "OMP_STACKSIZE") != NULL);
    char* halfway[] = {"OMP_STACKSIZE=64M", NULL};
    run_again("halfway", halfway, errors, sizeof errors);
    const char* const said = strstr(errors, "teams are smaller");
    CHECK(said != NULL && strstr(said + 1, "teams are smaller") == NULL);
    return 0;
  }
  if (strcmp(arguments[1], "stack") == 0) {
    CHECK_EQUAL(count_threads(4), 4);
    return 0;
  }
  CHECK_EQUAL(count_threads(1), 1);
  const struct rlimit limit = {.rlim_cur = (rlim_t)(mapped_bytes() + (200L << 20)),
                               .rlim_max = RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  for (int round = 0; round < 3; ++round) {
    const int found = count_threads(64);
    CHECK(found >= 2 && found < 64);
  }
  return 0;
}
