// sections run once each; single runs once, and copyprivate brings its values to all; threads with
// nowait run many workshares ahead.
#include <omp.h>
#include <stdio.h>

static int wrong = 0;
static int ran[5];

static void expect(const char* what, int threads, int value, int expected) {
  if (value == expected) return;
  printf("%s, %d threads: %d instead of %d\n", what, threads, value, expected);
#pragma omp atomic write
  wrong = 1;
}

static void check_sections(const char* what, int threads) {
  for (int i = 0; i < 5; ++i) {
    expect(what, threads, ran[i], 1);
    ran[i] = 0;
  }
}

#define RAN(i) _Pragma("omp atomic") ran[i] += 1
#define FIVE           \
  {                    \
    _Pragma("omp section") RAN(0);  \
    _Pragma("omp section") RAN(1);  \
    _Pragma("omp section") RAN(2);  \
    _Pragma("omp section") RAN(3);  \
    _Pragma("omp section") RAN(4);  \
  }

int main(void) {
  for (int threads = 1; threads <= 16; threads += threads < 3 ? 1 : 13) {
#pragma omp parallel sections num_threads(threads)
    FIVE
    check_sections("parallel sections", threads);
    int last = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp sections lastprivate(last)
      {
#pragma omp section
        last = 1;
#pragma omp section
        last = 2;
      }
#pragma omp sections nowait
      FIVE
    }
    expect("lastprivate of sections", threads, last, 2);
    check_sections("sections", threads);

    int singles = 0;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 50; ++i) {
      int value = -1, other = -1;
#pragma omp single copyprivate(value, other)
      {
        value = i;
        other = 2 * i;
        ++singles;
      }
      expect("copyprivate", threads, value, i);
      expect("copyprivate", threads, other, 2 * i);
    }
    expect("single", threads, singles, 50);

    // The first thread comes late to every workshare.
    int iterations = 0, once = 0, sections = 0;
#pragma omp parallel num_threads(threads) reduction(+ : iterations, once, sections)
    for (int i = 0; i < 300; ++i) {
      if (omp_get_thread_num() == 0 && i % 50 == 0) {
        for (volatile int k = 0; k < 20000; ++k) continue;
      }
#pragma omp for schedule(dynamic) nowait
      for (int k = 0; k < 7; ++k) ++iterations;
#pragma omp single nowait
      ++once;
#pragma omp for schedule(guided) nowait
      for (long k = 5; k > 0; --k) ++iterations;
#pragma omp sections nowait
      {
#pragma omp section
        ++sections;
#pragma omp section
        ++sections;
      }
#pragma omp for schedule(static, 2) nowait
      for (unsigned k = 0; k < 3; ++k) ++iterations;
    }
    expect("loops with nowait", threads, iterations, 300 * 15);
    expect("single with nowait", threads, once, 300);
    expect("sections with nowait", threads, sections, 600);
  }
  return wrong;
}
