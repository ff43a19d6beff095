// Reductions over tasks of taskgroups, taskloops, regions, loops, sections and scopes, and what
// else gcc asks the runtime to share memory for: scans and lastprivate(conditional).
#include <omp.h>
#include <stdio.h>

static int wrong = 0;

static void expect(const char* what, int threads, long value, long expected) {
  if (value == expected) return;
  printf("%s, %d threads: %ld instead of %ld\n", what, threads, value, expected);
  wrong = 1;
}

struct pair {
  long sum;
  long most;
};
static void add(struct pair* to, const struct pair* other) {
  to->sum += other->sum;
  if (other->most > to->most) to->most = other->most;
}
#pragma omp declare reduction(pairs : struct pair : add(&omp_out, &omp_in)) \
    initializer(omp_priv = (struct pair){0, -1})

static long total;
static int list[8];

static void recursive(int depth) {
#pragma omp task in_reduction(+ : total)
  {
    total += 1;
    if (depth > 0) {
      recursive(depth - 1);
      recursive(depth - 1);
    }
  }
}

static void test(int threads) {
  total = 5;
  struct pair pair = {0, -1};
  for (int i = 0; i < 8; ++i) list[i] = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : total) task_reduction(pairs : pair) \
    task_reduction(+ : list)
    {
      recursive(7);
      for (int i = 1; i <= 100; ++i) {
#pragma omp task in_reduction(pairs : pair) in_reduction(+ : list)
        {
          const struct pair value = {i, i};
          add(&pair, &value);
          list[i % 8] += i;
          // A group without reductions of its own, inside of one.
#pragma omp taskgroup
#pragma omp task in_reduction(+ : list)
          list[0] += 1;
        }
      }
    }
  }
  expect("taskgroup", threads, total, 5 + 255);
  expect("taskgroup, own reduction", threads, pair.sum, 5050);
  expect("taskgroup, own reduction", threads, pair.most, 100);
  long values = 0;
  for (int i = 0; i < 8; ++i) values += list[i];
  expect("taskgroup, array", threads, values, 5150);

  long sum = 0, product = 1;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop reduction(+ : sum) reduction(* : product) grainsize(3)
  for (int i = 1; i <= 1000; ++i) {
    sum += i;
    if (i % 100 == 0) product *= 2;
  }
  expect("taskloop", threads, sum, 500500);
  expect("taskloop, product", threads, product, 1024);

  total = 1;
#pragma omp parallel num_threads(threads) reduction(task, + : total)
  {
    total += 10;
    for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(+ : total)
      total += 1;
    }
#pragma omp single nowait
#pragma omp taskloop in_reduction(+ : total)
    for (int i = 0; i < 50; ++i) total += 1;
  }
  expect("parallel", threads, total, 1 + 30L * threads + 50);

  total = 0;
#pragma omp parallel num_threads(threads)
  {
    for (int round = 0; round < 10; ++round) {
#pragma omp for reduction(task, + : total) schedule(dynamic)
      for (int i = 0; i < 40; ++i) {
        total += 1;
#pragma omp task in_reduction(+ : total)
        total += i;
      }
    }
  }
  expect("loop", threads, total, 10 * (40 + 780));

  total = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for reduction(task, + : total) schedule(static)
    for (unsigned long long i = 0; i < 40; ++i) {
#pragma omp task in_reduction(+ : total)
      total += (long)i;
    }
#pragma omp sections reduction(task, + : total)
    {
#pragma omp section
      {
#pragma omp task in_reduction(+ : total)
        total += 1000;
      }
#pragma omp section
      total += 2000;
    }
#pragma omp scope reduction(task, + : total)
    {
#pragma omp task in_reduction(+ : total)
      total += 10000;
    }
  }
  expect("static loop, sections, scope", threads, total, 780 + 3000 + 10000L * threads);

#pragma omp parallel num_threads(threads)
  {
    // Task reductions inside of those of a region's loop: an inner group has its own.
#pragma omp for reduction(task, + : sum) schedule(dynamic, 2)
    for (int i = 0; i < 10; ++i) {
      long own = 0;
#pragma omp taskgroup task_reduction(+ : own)
      for (int k = 0; k < 5; ++k) {
#pragma omp task in_reduction(+ : own) in_reduction(+ : sum)
        {
          own += k;
          sum += 1;
        }
      }
      sum += own;
    }
  }
  expect("groups inside of a loop", threads, sum, 500500 + 10 * 15);

  int prefix[100];
  int running = 0;
#pragma omp parallel for reduction(inscan, + : running) num_threads(threads)
  for (int i = 0; i < 100; ++i) {
    running += i;
#pragma omp scan inclusive(running)
    prefix[i] = running;
  }
  for (int i = 0; i < 100; ++i) expect("scan", threads, prefix[i], (long)i * (i + 1) / 2);

  int last = -1;
#pragma omp parallel for schedule(dynamic) lastprivate(conditional : last) num_threads(threads)
  for (int i = 0; i < 100; ++i) {
    if (i % 7 == 3) last = i;
  }
  expect("lastprivate(conditional)", threads, last, 94);
#pragma omp parallel num_threads(threads)
  {
#pragma omp sections lastprivate(conditional : last)
    {
#pragma omp section
      last = 1;
#pragma omp section
      last = 2;
#pragma omp section
      if (threads > 2) last = 3;
    }
  }
  expect("sections, lastprivate(conditional)", threads, last, threads > 2 ? 3 : 2);
}

int main(void) {
  for (int threads = 1; threads <= 16; threads += threads < 3 ? 1 : 13) {
    for (int round = 0; round < 5; ++round) test(threads);
  }
  return wrong;
}
