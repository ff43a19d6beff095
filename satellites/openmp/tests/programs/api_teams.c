// teams on the host.
#include <omp.h>

#include "api_check.h"

int main(void) {
  CHECK_EQUAL(omp_get_num_teams(), 1);
  CHECK_EQUAL(omp_get_team_num(), 0);
  int seen[3] = {0};
#pragma omp teams num_teams(3) thread_limit(2)
  {
    const int team = omp_get_team_num();
    ++seen[team];  // one after another, in both runtimes
#pragma omp parallel num_threads(8)
    {
      CHECK(omp_get_num_threads() <= 2);
      CHECK_EQUAL(omp_get_thread_limit(), 2);
      CHECK_EQUAL(omp_get_level(), 1);
      CHECK_EQUAL(omp_get_team_num(), team);
      CHECK_EQUAL(omp_get_num_teams(), 3);
    }
  }
  for (int i = 0; i < 3; ++i) CHECK_EQUAL(seen[i], 1);
  CHECK_EQUAL(omp_get_num_teams(), 1);
  CHECK(omp_get_thread_limit() > 2);

  omp_set_num_teams(2);
  omp_set_teams_thread_limit(1);
  CHECK_EQUAL(omp_get_max_teams(), 2);
  CHECK_EQUAL(omp_get_teams_thread_limit(), 1);
  int teams = 0;
#pragma omp teams reduction(+ : teams)
  {
    ++teams;
#pragma omp parallel num_threads(4)
    {
      CHECK_EQUAL(omp_get_num_teams(), 2);
      CHECK_EQUAL(omp_get_num_threads(), 1);
    }
  }
  CHECK_EQUAL(teams, 2);
  return 0;
}
