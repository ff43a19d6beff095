// Regions of clang's with barriers, where libomp and the library in front of it must agree who waits
// where: many captured variables, regions within regions, of one thread, with tasks in between. It
// says what is wrong and exits with 1, or prints nothing.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 16, rounds = 200 };

static void fail(const char* what, int threads) {
  fprintf(stderr, "regions: %s with %d threads\n", what, threads);
  exit(1);
}

static int shared[most];

// After each barrier every thread sees what all others did before it.
static void rounds_of_barriers(int threads, int with_tasks_from) {
  int wrong = 0, made = 0;
  for (int i = 0; i < most; ++i) shared[i] = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    const int me = omp_get_thread_num(), all = omp_get_num_threads();
    for (int round = 0; round < rounds; ++round) {
      shared[me] = round;
      if (round >= with_tasks_from && round % 3 == me % 3) {
#pragma omp task
#pragma omp atomic
        ++made;
      }
#pragma omp barrier
      for (int i = 0; i < all; ++i) wrong += shared[i] != round;
      // All tasks have run at a barrier.
      int expected = 0;
      for (int r = with_tasks_from; r <= round; ++r) {
        for (int i = 0; i < all; ++i) expected += r % 3 == i % 3;
      }
      int seen;
#pragma omp atomic read
      seen = made;
      wrong += seen != expected;
#pragma omp barrier
    }
  }
  if (wrong != 0) fail(with_tasks_from < rounds ? "barriers with tasks" : "barriers", threads);
}

// More words than registers, odd and even in number, by value and by reference.
static void captured(int threads) {
  long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
  double x = 0.5, y = 0.25;
  char text[32] = "captured";
  long sum = 0;
#pragma omp parallel num_threads(threads) firstprivate(a, b, c, d, e, x, text) reduction(+ : sum)
  sum += a + 2 * b + 3 * c + 4 * d + 5 * e + f + g + h + i + j + k + l + (long)(4 * (x + y)) +
         text[0];
  const int size = (int)sum % (55 + 63 + 3 + 'c') == 0 ? (int)sum / (55 + 63 + 3 + 'c') : 0;
  if (size < 1 || size > threads) fail("captured words", threads);
  sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  sum += a + b + c + d + e;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  sum += 1;
  if (sum != 16L * size) fail("few captured words", threads);
}

static void nested(int threads) {
  int wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    const int me = omp_get_thread_num();
    for (int round = 0; round < 20; ++round) {
      int inner[4] = {0};
#pragma omp parallel num_threads(1 + round % 4) shared(inner) reduction(+ : wrong)
      {
        inner[omp_get_thread_num()] = round + 1;
#pragma omp barrier
        for (int i = 0; i < omp_get_num_threads(); ++i) wrong += inner[i] != round + 1;
      }
#pragma omp parallel if (round % 2 == 0) num_threads(2)
      {
#pragma omp barrier
#pragma omp single
        shared[me] = round;
      }
#pragma omp barrier
      for (int i = 0; i < omp_get_num_threads(); ++i) wrong += shared[i] != round;
#pragma omp barrier
    }
  }
  if (wrong != 0) fail("regions within regions", threads);
}

static void __attribute__((noinline)) orphaned(long* to) {
#pragma omp for schedule(dynamic, 3)
  for (int i = 0; i < 100; ++i) {
#pragma omp critical(orphans)
    to[i % 5] += i;
  }
#pragma omp single copyprivate(to)
  to[5] += 1;
}

static void workshares(int threads) {
  long sums[6] = {0};
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < 20; ++round) {
    orphaned(sums);
#pragma omp barrier
  }
  for (int i = 0; i < 5; ++i) {
    if (sums[i] != 20L * (20 * i + 950)) fail("workshares", threads);
  }
  if (sums[5] != 20) fail("single", threads);
}

int main(void) {
  omp_set_max_active_levels(2);
  omp_set_dynamic(0);
  for (int threads = 1; threads <= most; threads += 1 + threads / 3) {
    rounds_of_barriers(threads, rounds);
    rounds_of_barriers(threads, 100);
    rounds_of_barriers(threads, 0);
    captured(threads);
    nested(threads);
    workshares(threads);
  }
  return 0;
}
