// cancel of each construct: those that are cancelled end early, what comes after them works. Loops
// below are so long that they only end by it. Cancellation must be set when the program starts: it
// starts itself again.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int wrong = 0;

static void expect(const char* what, int threads, long value, long expected) {
  if (value == expected) return;
  printf("%s, %d threads: %ld instead of %ld\n", what, threads, value, expected);
  wrong = 1;
}

static void sums(int threads) {
  long sum = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(dynamic) reduction(+ : sum) nowait
    for (int i = 0; i < 10; ++i) sum += i;
#pragma omp for schedule(guided) reduction(+ : sum)
    for (int i = 0; i < 10; ++i) sum += i;
#pragma omp single
    sum += 10;
  }
  expect("a region after one that was cancelled", threads, sum, 100);
}

static void loops(int threads) {
  int after = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(dynamic)
    for (long i = 0; i < 1L << 60; ++i) {
      if (i == 100) {
#pragma omp cancel for
      }
#pragma omp cancellation point for
    }
#pragma omp for schedule(static)
    for (long i = 0; i < 1L << 60; ++i) {
#pragma omp cancel for
    }
#pragma omp for schedule(guided)
    for (unsigned long long i = 0; i < 1ULL << 60; ++i) {
#pragma omp cancel for if (i > 5)
    }
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; ++i) {
#pragma omp atomic
      ++after;
#pragma omp cancellation point for
    }
  }
  expect("a loop after one that was cancelled", threads, after, 10);
}

static void sections(int threads) {
  int ran = 0, after = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp atomic
        ++ran;
#pragma omp cancel sections
        ran = 100;
      }
#pragma omp section
      {
        while (1) {
#pragma omp cancellation point sections
        }
      }
    }
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp cancellation point sections
#pragma omp atomic
        ++after;
      }
#pragma omp section
      {
#pragma omp cancellation point sections
#pragma omp atomic
        ++after;
      }
    }
  }
  expect("a section that was cancelled", threads, ran, 1);
  expect("sections after some that were cancelled", threads, after, 2);
}

static void regions(int threads) {
  int late = 0, iterations = 0;
  // While others wait at a barrier.
#pragma omp parallel num_threads(threads)
  {
    if (omp_get_thread_num() == threads - 1) {
#pragma omp cancel parallel
    }
#pragma omp barrier
#pragma omp atomic
    ++late;
  }
  expect("code after a barrier that was cancelled", threads, late, 0);
  sums(threads);
  // Between loops; some threads are some constructs ahead.
#pragma omp parallel num_threads(threads)
  {
    for (int round = 0; round < 30; ++round) {
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 20; ++i) {
#pragma omp atomic
        ++iterations;
      }
      if (round == 20 && omp_get_thread_num() == threads / 2) {
#pragma omp cancel parallel
      }
#pragma omp cancellation point parallel
    }
#pragma omp barrier
#pragma omp atomic
    ++late;
  }
  expect("code after loops in a region that was cancelled", threads, late, 0);
  expect("too many iterations", threads, iterations > 30 * 20, 0);
  sums(threads);
  if (threads == 1) return;
  // With tasks that only end by it.
  int begun = 0, cancel = 0;
#pragma omp parallel num_threads(threads)
  {
    if (omp_get_thread_num() == 1) {
#pragma omp taskgroup
      {
        for (int i = 0; i < 100; ++i) {
#pragma omp task
          {
#pragma omp atomic write
            begun = 1;
            while (1) {
#pragma omp cancellation point taskgroup
            }
          }
        }
      }
    }
    while (omp_get_thread_num() == 0 && !cancel) {
#pragma omp atomic read
      cancel = begun;
    }
#pragma omp cancel parallel if (cancel)
  }
  sums(threads);
}

static void taskgroups(int threads) {
  int ended = 0, inner = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
#pragma omp taskgroup
    {
      for (int i = 0; i < 200; ++i) {
#pragma omp task
        {
          if (i == 10) {
#pragma omp cancel taskgroup
          }
#pragma omp cancellation point taskgroup
        }
      }
    }
    if (threads > 1) {  // so that both may run at a time
#pragma omp taskgroup
      {
#pragma omp task
        while (1) {
#pragma omp cancellation point taskgroup
        }
#pragma omp task
        {
#pragma omp cancel taskgroup
        }
      }
    }
#pragma omp taskgroup
    {
      for (int i = 0; i < 20; ++i) {
#pragma omp task
        {
#pragma omp atomic
          ++ended;
        }
      }
    }
#pragma omp taskgroup
    {
#pragma omp task
      {
#pragma omp cancel taskgroup
      }
#pragma omp taskwait
#pragma omp task
#pragma omp atomic
      ++inner;
    }
  }
  expect("tasks of a group after one that was cancelled", threads, ended, 20);
  expect("tasks made after their group was cancelled", threads, inner, 0);
}

int main(int count, char** arguments) {
  (void)count;
  if (getenv("OMP_CANCELLATION") == NULL) {
    setenv("OMP_CANCELLATION", "true", 1);
    execv("/proc/self/exe", arguments);
    perror("cancellation: cannot start itself");
    return 1;
  }
  for (int threads = 1; threads <= 16; threads += threads < 3 ? 1 : 13) {
    for (int round = 0; round < 5; ++round) {
      loops(threads);
      if (threads > 1) sections(threads);
      regions(threads);
      taskgroups(threads);
    }
  }
  return wrong;
}
