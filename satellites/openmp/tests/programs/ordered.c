// ordered: its regions run in the order of the loop, under every schedule, also if some iterations
// have none.
#include <omp.h>
#include <stdio.h>

enum { most = 300 };
static int order[most];
static int done;
static int wrong = 0;

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define TEXT(...) #__VA_ARGS__
#define TEST(CLAUSES)                                                                        \
  do {                                                                                       \
    done = 0;                                                                                \
    PRAGMA(omp parallel num_threads(threads)) {                                              \
      PRAGMA(omp for CLAUSES ordered)                                                        \
      for (int i = 0; i < count; ++i) {                                                      \
        if (i % every != 0) continue;                                                        \
        PRAGMA(omp ordered) { order[done++] = i; }                                           \
      }                                                                                      \
    }                                                                                        \
    if (done != (count + every - 1) / every) {                                               \
      printf("%s, %d threads, %d iterations: %d ordered regions\n", TEXT(CLAUSES), threads,  \
             count, done);                                                                   \
      wrong = 1;                                                                             \
    }                                                                                        \
    for (int i = 0; i < done; ++i) {                                                         \
      if (order[i] == i * every) continue;                                                   \
      printf("%s, %d threads, %d iterations: region %d was %d\n", TEXT(CLAUSES), threads,    \
             count, i, order[i]);                                                            \
      wrong = 1;                                                                             \
      break;                                                                                 \
    }                                                                                        \
  } while (0)

int main(void) {
  for (int threads = 1; threads <= 16; threads += threads < 3 ? 1 : 13) {
    for (int count = 0; count <= most; count = count * 3 + 1) {
      for (int every = 1; every <= 3; ++every) {
        TEST(schedule(static));
        TEST(schedule(static, 1));
        TEST(schedule(static, 7));
        TEST(schedule(dynamic));
        TEST(schedule(dynamic, 5));
        TEST(schedule(guided));
        TEST(schedule(guided, 3));
        omp_set_schedule(omp_sched_dynamic, every);
        TEST(schedule(runtime));
      }
    }
  }
  return wrong;
}
