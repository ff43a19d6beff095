// ordered(n) with depend(source) and depend(sink): wavefronts in one, two and three dimensions.
#include <omp.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

static ull state = 99;
static int any(int below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((state >> 33) % (ull)below);
}

enum { side = 16, depth = 8 };
static unsigned line[side * side], plane[side][side], cube[depth][depth][depth];
static unsigned line_right[side * side], plane_right[side][side],
    cube_right[depth][depth][depth];
static int wrong = 0;

static unsigned step(unsigned a, unsigned b, unsigned c) { return a * 3 + b * 5 + c * 7 + 1; }

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define TEXT(...) #__VA_ARGS__
#define SAME(WHAT, CLAUSES, TYPE)                                                 \
  if (memcmp(WHAT, WHAT##_right, sizeof WHAT) != 0) {                             \
    printf("%s, %s, %s, %d threads: wrong values\n", #WHAT, TEXT(CLAUSES), #TYPE, \
           threads);                                                              \
    wrong = 1;                                                                    \
  }

#define LINE(TYPE, CLAUSES)                                            \
  memset(line, 0, sizeof line);                                        \
  PRAGMA(omp parallel for CLAUSES ordered(1) num_threads(threads))     \
  for (TYPE i = far; i < (TYPE)length; ++i) {                          \
    PRAGMA(omp ordered depend(sink : i - 7))                         \
    line[i] = step(line[i - far], (unsigned)i, 0);                     \
    PRAGMA(omp ordered depend(source))                                 \
  }                                                                    \
  SAME(line, CLAUSES, TYPE)

#define PLANE(TYPE, CLAUSES)                                               \
  memset(plane, 0, sizeof plane);                                          \
  PRAGMA(omp parallel for CLAUSES ordered(2) num_threads(threads))         \
  for (TYPE i = 1; i < (TYPE)rows; ++i)                                    \
    for (TYPE j = 1; j < (TYPE)columns; ++j) {                             \
      PRAGMA(omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1))  \
      plane[i][j] = step(plane[i - 1][j], plane[i][j - 1], (unsigned)j);   \
      PRAGMA(omp ordered depend(source))                                   \
    }                                                                      \
  SAME(plane, CLAUSES, TYPE)

// The second loop goes down: with unsigned types, gcc 12 has the wrong iteration waited for.
#define CUBE(TYPE, CLAUSES)                                                                       \
  memset(cube, 0, sizeof cube);                                                                   \
  PRAGMA(omp parallel for CLAUSES ordered(3) num_threads(threads))                                \
  for (TYPE i = 1; i < depth; ++i)                                                             \
    for (TYPE j = depth - 2; j > 0; j -= 2)                                                    \
      for (TYPE k = 1; k < depth; ++k) {                                                       \
        PRAGMA(omp ordered depend(sink : i - 1, j, k) depend(sink : i, j + 2, k)                  \
                   depend(sink : i - 1, j + 2, k - 1))                                            \
        cube[i][j][k] = step(cube[i - 1][j][k], j + 2 < depth ? cube[i][j + 2][k] : 0,         \
                             j + 2 < depth ? cube[i - 1][j + 2][k - 1] : 0);                   \
        PRAGMA(omp ordered depend(source))                                                        \
      }                                                                                           \
  SAME(cube, CLAUSES, TYPE)

#define ALL(FORM, TYPE)               \
  FORM(TYPE, schedule(static));       \
  FORM(TYPE, schedule(static, 1));    \
  FORM(TYPE, schedule(static, 3));    \
  FORM(TYPE, schedule(dynamic));      \
  FORM(TYPE, schedule(dynamic, 4));   \
  FORM(TYPE, schedule(guided, 2));    \
  FORM(TYPE, schedule(runtime))

int main(void) {
  for (int i = 1; i < depth; ++i)
    for (int j = depth - 2; j > 0; j -= 2)
      for (int k = 1; k < depth; ++k)
        cube_right[i][j][k] =
            step(cube_right[i - 1][j][k], j + 2 < depth ? cube_right[i][j + 2][k] : 0,
                 j + 2 < depth ? cube_right[i - 1][j + 2][k - 1] : 0);
  for (int threads = 1; threads <= 8; threads += 1 + threads / 3) {
    omp_set_schedule(threads % 2 == 0 ? omp_sched_dynamic : omp_sched_static, threads / 2);
    const int far = 7, length = far + any(side * side - far);
    const int rows = 2 + any(side - 2), columns = 2 + any(side - 2);
    memset(line_right, 0, sizeof line_right);
    memset(plane_right, 0, sizeof plane_right);
    for (int i = far; i < length; ++i) line_right[i] = step(line_right[i - far], (unsigned)i, 0);
    for (int i = 1; i < rows; ++i)
      for (int j = 1; j < columns; ++j)
        plane_right[i][j] = step(plane_right[i - 1][j], plane_right[i][j - 1], (unsigned)j);
    ALL(LINE, int)
    ALL(LINE, ull)
    ALL(PLANE, int)
    ALL(PLANE, long)
    ALL(PLANE, ull)
    ALL(CUBE, int)
    ALL(CUBE, long)
  }
  return wrong;
}
