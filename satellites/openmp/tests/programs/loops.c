// Loops of every schedule, type and direction, with 1 to 16 threads: each iteration runs once. It
// says what is wrong and exits with 1, or prints nothing.
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long ull;

static ull state = 12345;
static ull any(ull below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (state >> 33) % below;
}
static ull mixed(ull value) {
  value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15ULL;
  return value ^ (value >> 29);
}

static int wrong = 0;
static ull seen;  // the number of iterations, and a sum over hashes of their values
static ull sum;

#define VISIT(i)                            \
  do {                                      \
    const ull hash = mixed((ull)(i) + 1);   \
    _Pragma("omp atomic") seen += 1;        \
    _Pragma("omp atomic") sum += hash;      \
  } while (0)

#define EXPECT(NAME, TYPE, DIRECTION)                                                             \
  do {                                                                                            \
    if (seen != count || sum != expected) {                                                       \
      printf("%s %s %s, %d threads, chunk %d: %llu iterations instead of %llu%s\n", NAME, TYPE,   \
             DIRECTION, threads, chunk, seen, count, seen == count ? ", but others" : "");        \
      wrong = 1;                                                                                  \
    }                                                                                             \
    seen = sum = 0;                                                                               \
  } while (0)

#define TEXT(...) #__VA_ARGS__
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define ONE(TYPE, CLAUSES)                                                             \
  PRAGMA(omp parallel num_threads(threads)) {                                          \
    PRAGMA(omp for CLAUSES)                                                            \
    for (TYPE i = low; i < high; i += step) VISIT(i);                                  \
  }                                                                                    \
  EXPECT(TEXT(CLAUSES), #TYPE, "up");                                                  \
  PRAGMA(omp parallel for CLAUSES num_threads(threads))                                \
  for (TYPE i = low; i < high; i += step) VISIT(i);                                    \
  EXPECT("parallel " TEXT(CLAUSES), #TYPE, "up")
#define ONE_DOWN(TYPE, CLAUSES)                                                        \
  PRAGMA(omp parallel num_threads(threads)) {                                          \
    PRAGMA(omp for CLAUSES)                                                            \
    for (TYPE i = high; i > low; i -= step) VISIT(i);                                  \
  }                                                                                    \
  EXPECT(TEXT(CLAUSES), #TYPE, "down");                                                \
  PRAGMA(omp parallel for CLAUSES num_threads(threads))                                \
  for (TYPE i = high; i > low; i -= step) VISIT(i);                                    \
  EXPECT("parallel " TEXT(CLAUSES), #TYPE, "down")

#define ALL(FORM, TYPE)                                      \
  FORM(TYPE, schedule(static));                              \
  FORM(TYPE, schedule(static, chunk));                       \
  FORM(TYPE, schedule(dynamic));                             \
  FORM(TYPE, schedule(dynamic, chunk));                      \
  FORM(TYPE, schedule(monotonic : dynamic, chunk));          \
  FORM(TYPE, schedule(nonmonotonic : dynamic, chunk));       \
  FORM(TYPE, schedule(guided));                              \
  FORM(TYPE, schedule(guided, chunk));                       \
  FORM(TYPE, schedule(monotonic : guided, chunk));           \
  FORM(TYPE, schedule(auto));                                \
  FORM(TYPE, schedule(runtime));                             \
  FORM(TYPE, schedule(monotonic : runtime));                 \
  FORM(TYPE, schedule(nonmonotonic : runtime));              \
  FORM(TYPE, schedule(dynamic, chunk) ordered);              \
  FORM(TYPE, schedule(static, chunk) ordered);               \
  FORM(TYPE, schedule(guided, chunk) ordered);               \
  FORM(TYPE, schedule(runtime) ordered)

// Bounds anywhere, or at the ends of the type; the step is such that there are few iterations, and
// such that no variable overflows behind its last one. DOWN: gcc 12 gives the library a step down
// that is positive if the type is unsigned and shorter than long.
#define NONE(FORM, TYPE)
#define TEST(TYPE, DOWN, LOWEST, HIGHEST)                                           \
  static void test_##TYPE(int threads, int chunk, int end) {                        \
    const TYPE far = (TYPE)(HIGHEST / (TYPE)(60 + any(40)));                         \
    const TYPE step = end == 0 ? (TYPE)(1 + any(3)) : far;                          \
    TYPE low = (TYPE)(any(50) + 20), high = (TYPE)(low - 5 + (TYPE)any(60));        \
    if (end == 1) low = (TYPE)(far + (TYPE)any(3)), high = (TYPE)(HIGHEST - far);   \
    if (end == 2) low = (TYPE)(LOWEST + far), high = (TYPE)(LOWEST + HIGHEST - far); \
    ull count = 0, expected = 0, down = 0, expected_down = 0;                       \
    for (TYPE i = low; i < high; i += step) count += 1, expected += mixed((ull)i + 1); \
    for (TYPE i = high; i > low; i -= step) down += 1, expected_down += mixed((ull)i + 1); \
    ALL(ONE, TYPE);                                                                 \
    count = down;                                                                   \
    expected = expected_down;                                                       \
    DOWN(ONE_DOWN, TYPE);                                                           \
  }

typedef unsigned char byte;
TEST(int, ALL, INT_MIN, INT_MAX)
TEST(unsigned, NONE, 0, UINT_MAX)
TEST(long, ALL, LONG_MIN, LONG_MAX)
TEST(ull, ALL, 0, ULLONG_MAX)
TEST(byte, NONE, 0, UCHAR_MAX)

int main(void) {
  const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided,
                               omp_sched_auto};
  for (int threads = 1; threads <= 16; threads += threads < 3 ? 1 : 13) {
    for (int round = 0; round < 4; ++round) {
      const int chunk = 1 + (int)any(12);
      omp_set_schedule(kinds[round], (int)any(4));
      test_int(threads, chunk, round % 3);
      test_unsigned(threads, chunk, round % 3);
      test_long(threads, chunk, round % 3);
      test_ull(threads, chunk, round % 3);
      test_byte(threads, chunk, 0);
    }
  }
  return wrong;
}
