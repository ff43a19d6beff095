// What threads say about where they are.
#include <omp.h>

#include "api_check.h"

static void check_text(const char* format, const char* expected) {
  char text[256];
  const size_t length = omp_capture_affinity(text, sizeof text, format);
  if (strcmp(text, expected) != 0 || length != strlen(expected)) {
    fprintf(stderr, "%s gives %s, not %s\n", format, text, expected);
    _exit(1);
  }
}

int main(int count, char** arguments) {
  (void)arguments;
  check_text("%n %N %L %t %T %a %%", "0 1 0 0 1 -1 %");
  check_text("[%4n|%.4n|%0.4n]", "[0   |   0|0000]");
  check_text("%{thread_num}/%{num_threads}/%{nesting_level}/%{ancestor_tnum}", "0/1/0/-1");
  char process[32];
  snprintf(process, sizeof process, "%d", (int)getpid());
  check_text("%P", process);
  char host[256];
  gethostname(host, sizeof host);
  check_text("%H", host);
  omp_set_affinity_format("mine %n");
  char text[8];
  CHECK_EQUAL(omp_get_affinity_format(text, sizeof text), 7);
  CHECK(strcmp(text, "mine %n") == 0);
  CHECK_EQUAL(omp_get_affinity_format(text, 5), 7);
  CHECK(strcmp(text, "mine") == 0);
  check_text("", "mine 0");
  check_text(NULL, "mine 0");
#pragma omp parallel num_threads(3)
  {
    char here[64];
    char expected[64];
    omp_capture_affinity(here, sizeof here, "%n of %N at %L, %a");
    snprintf(expected, sizeof expected, "%d of 3 at 1, 0", omp_get_thread_num());
    CHECK(strcmp(here, expected) == 0);
  }
  if (count > 1) return 0;
  char errors[4096];
  char* shown[] = {"OMP_DISPLAY_AFFINITY=true", "OMP_AFFINITY_FORMAT=shown %n", NULL};
  run_again("shown", shown, errors, sizeof errors);
  // The program sets a format of its own before its region.
  for (int i = 0; i < 3; ++i) {
    char line[16];
    snprintf(line, sizeof line, "mine %d\n", i);
    CHECK(strstr(errors, line) != NULL);
  }
  return 0;
}
