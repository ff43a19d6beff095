// taskloop: each iteration runs once, whatever the number and size of tasks, types and directions;
// tasks are as large as their clauses say.
#include <limits.h>
#include <omp.h>
#include <stdio.h>

typedef unsigned long long ull;

static ull state = 7;
static ull any(ull below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (state >> 33) % below;
}

static int wrong = 0;
static ull seen, sum;

static void expect(const char* what, int threads, ull value, ull expected) {
  if (value == expected) return;
  printf("%s, %d threads: %llu instead of %llu\n", what, threads, value, expected);
  wrong = 1;
}

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define TEXT(...) #__VA_ARGS__
#define VISIT(i)                               \
  do {                                         \
    _Pragma("omp atomic") seen += 1;           \
    _Pragma("omp atomic") sum += (ull)(i) * 3; \
  } while (0)
#define TEST(CLAUSES, HEADER)                                        \
  do {                                                               \
    ull count = 0, right = 0;                                        \
    for HEADER {                                                     \
      count += 1;                                                    \
      right += (ull)i * 3;                                           \
    }                                                                \
    seen = sum = 0;                                                  \
    PRAGMA(omp parallel num_threads(threads))                        \
    PRAGMA(omp single) {                                             \
      PRAGMA(omp taskloop CLAUSES)                                   \
      for HEADER VISIT(i);                                           \
      PRAGMA(omp taskwait)                                           \
    }                                                                \
    expect("count of taskloop " TEXT(CLAUSES), threads, seen, count); \
    expect("sum of taskloop " TEXT(CLAUSES), threads, sum, right);   \
  } while (0)
#define ALL(HEADER)                        \
  TEST(, HEADER);                          \
  TEST(grainsize(size), HEADER);           \
  TEST(grainsize(strict : size), HEADER);  \
  TEST(num_tasks(size), HEADER);           \
  TEST(num_tasks(strict : size), HEADER);  \
  TEST(nogroup, HEADER);                   \
  TEST(if (0) grainsize(size), HEADER);    \
  TEST(final(1) num_tasks(size), HEADER);  \
  TEST(untied priority(2) mergeable, HEADER)

static void sizes(int threads) {
  for (int size = 1; size < 40; size += 6) {
    const int count = 1 + (int)any(100);
    int tasks = 0, task = -1;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop grainsize(strict : size) firstprivate(task)
    for (int i = 0; i < count; ++i) {
      if (task < 0) {
#pragma omp atomic capture
        task = tasks++;
      }
    }
    expect("tasks of grainsize(strict)", threads, (ull)tasks, (ull)((count + size - 1) / size));
    tasks = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop num_tasks(strict : size) firstprivate(task)
    for (int i = 0; i < count; ++i) {
      if (task < 0) {
#pragma omp atomic capture
        task = tasks++;
      }
    }
    expect("tasks of num_tasks", threads, (ull)tasks, (ull)(size < count ? size : count));
    int last = -1;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop num_tasks(size) lastprivate(last)
    for (int i = 0; i < count; i += 3) last = i;
    expect("lastprivate", threads, (ull)last, (ull)((count - 1) / 3 * 3));
    int cells = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop collapse(2) grainsize(size)
    for (int i = 0; i < count; ++i) {
      for (long k = 9; k > 0; k -= 2) {
#pragma omp atomic
        ++cells;
      }
    }
    expect("collapse(2)", threads, (ull)cells, (ull)count * 5);
  }
}

int main(void) {
  for (int threads = 1; threads <= 16; threads += threads < 3 ? 1 : 13) {
    for (int round = 0; round < 3; ++round) {
      const int size = 1 + (int)any(30);
      const int low = (int)any(100) - 50, high = low - 3 + (int)any(200), step = 1 + (int)any(4);
      ALL((int i = low; i < high; i += step));
      ALL((int i = high; i > low; i -= step));
      ALL((long i = LONG_MAX - 100; i < LONG_MAX - size; i += step));
      ALL((long i = LONG_MIN + 100; i > LONG_MIN + size; i -= step));
      ALL((ull i = ULLONG_MAX - 100; i < ULLONG_MAX - 10; i += (ull)step));
      ALL((ull i = ULLONG_MAX - 10; i > ULLONG_MAX - 100; i -= (ull)step));
    }
    sizes(threads);
  }
  return wrong;
}
