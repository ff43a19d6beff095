// Loops near the ends of their types, with chunks that lead far beyond: each iteration runs once.
// libgomp of gcc 12 overflows here; this runtime must not.
#include <limits.h>
#include <stdio.h>

typedef unsigned long long ull;

static int wrong = 0;
static int seen[64];

static void expect(const char* what, int count, int threads) {
  for (int i = 0; i < 64; ++i) {
    if (seen[i] != (i < count)) {
      printf("%s, %d threads: iteration %d of %d ran %d times\n", what, threads, i, count, seen[i]);
      wrong = 1;
    }
    seen[i] = 0;
  }
}

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define TEST(...)                                                                  \
  PRAGMA(omp parallel for schedule(__VA_ARGS__) num_threads(threads))                 \
  for (ull i = ULLONG_MAX - 6; i < ULLONG_MAX - 1; ++i) {                          \
    PRAGMA(omp atomic)                                                             \
    ++seen[i - (ULLONG_MAX - 6)];                                                  \
  }                                                                                \
  expect("up to 2^64, " #__VA_ARGS__, 5, threads);                                    \
  PRAGMA(omp parallel for schedule(__VA_ARGS__) num_threads(threads))                 \
  for (ull i = 63; i > 3; i -= 3) {                                                \
    PRAGMA(omp atomic)                                                             \
    ++seen[(63 - i) / 3];                                                          \
  }                                                                                \
  expect("down to 0, " #__VA_ARGS__, 20, threads);                                    \
  PRAGMA(omp parallel for schedule(__VA_ARGS__) num_threads(threads))                 \
  for (long i = LONG_MIN + 10; i < LONG_MAX - LONG_MAX / 10; i += LONG_MAX / 10) { \
    PRAGMA(omp atomic)                                                             \
    ++seen[((ull)i - (ull)(LONG_MIN + 10)) / (LONG_MAX / 10)];                                            \
  }                                                                                \
  expect("from end to end, " #__VA_ARGS__, 20, threads)

int main(void) {
  for (int threads = 1; threads <= 8; threads += 1 + threads / 3) {
    TEST(dynamic);
    TEST(dynamic, LONG_MAX);
    TEST(dynamic, LONG_MAX / 3);
    TEST(guided, LONG_MAX);
    TEST(guided, 4);
    TEST(runtime);
  }
  return wrong;
}
