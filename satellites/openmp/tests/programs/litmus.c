// What OpenMP's memory model forbids is never seen: small programs of two or three threads that
// begin together, some thousands of times each. It says what was seen and exits with 1, or prints
// nothing.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { rounds = 4000, lines = 16 };

// On lines of their own, or accesses of different variables could not be reordered.
static volatile long cells[6 * lines];
#define X cells[0 * lines]
#define Y cells[1 * lines]
#define Z cells[2 * lines]

static int begun;

// Both threads go on at nearly the same moment.
static void begin_together(int round) {
#pragma omp atomic seq_cst
  ++begun;
  int seen;
  do {
#pragma omp atomic read acquire
    seen = begun;
  } while (seen < 2 * (round + 1));
}

static void forbidden(const char* test, long a, long b) {
  fprintf(stderr, "litmus: %s: saw %ld and %ld\n", test, a, b);
  exit(1);
}

static void message_passing(void) {
  for (int round = 0; round < rounds; ++round) {
    long flag = 0, data = 0;
    X = Y = 0;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
      X = 1;
#pragma omp atomic write release
      Y = 1;
    } else {
#pragma omp atomic read acquire
      flag = Y;
      data = X;
    }
    if (flag == 1 && data == 0) forbidden("message passing", flag, data);
  }
}

static void store_buffering(void) {
  begun = 0;
  long a = 0, b = 0;
#pragma omp parallel num_threads(2)
  for (int round = 0; round < rounds; ++round) {
#pragma omp single
    X = Y = 0;
    begin_together(round);
    if (omp_get_thread_num() == 0) {
#pragma omp atomic write seq_cst
      X = 1;
#pragma omp atomic read seq_cst
      a = Y;
    } else {
#pragma omp atomic write seq_cst
      Y = 1;
#pragma omp atomic read seq_cst
      b = X;
    }
#pragma omp barrier
    if (a == 0 && b == 0) forbidden("store buffering", a, b);
#pragma omp barrier
  }
}

static void store_buffering_with_flush(void) {
  begun = 0;
  long a = 0, b = 0;
#pragma omp parallel num_threads(2)
  for (int round = 0; round < rounds; ++round) {
#pragma omp single
    X = Y = 0;
    begin_together(round);
    if (omp_get_thread_num() == 0) {
      X = 1;
#pragma omp flush
      a = Y;
    } else {
      Y = 1;
#pragma omp flush
      b = X;
    }
#pragma omp barrier
    if (a == 0 && b == 0) forbidden("store buffering with flush", a, b);
#pragma omp barrier
  }
}

// A thread that has seen what a second one wrote after it saw what a third one wrote.
static void causality(void) {
  for (int round = 0; round < rounds / 4; ++round) {
    long seen = 0, first = 0;
    X = Y = 0;
#pragma omp parallel num_threads(3)
    switch (omp_get_thread_num()) {
      case 0: {
#pragma omp atomic write seq_cst
        X = 1;
        break;
      }
      case 1: {
        long x;
#pragma omp atomic read seq_cst
        x = X;
        if (x == 1) {
#pragma omp atomic write seq_cst
          Y = 1;
        }
        break;
      }
      default: {
#pragma omp atomic read seq_cst
        seen = Y;
#pragma omp atomic read seq_cst
        first = X;
      }
    }
    if (seen == 1 && first == 0) forbidden("causality", seen, first);
  }
}

// What a thread did before a barrier, others see after it, and not what it does after the next one.
static void barriers(void) {
#pragma omp parallel num_threads(3)
  {
    const int me = omp_get_thread_num(), all = omp_get_num_threads();
    for (long round = 0; round < rounds; ++round) {
      cells[me * lines] = round;
#pragma omp barrier
      for (int i = 0; i < all; ++i) {
        if (cells[i * lines] != round) forbidden("barriers", cells[i * lines], round);
      }
#pragma omp barrier
    }
  }
}

// One thread at a time, and each sees what the one before it did.
static void exclusion(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  X = Y = Z = 0;
#pragma omp parallel num_threads(3)
  for (int round = 0; round < rounds; ++round) {
#pragma omp critical(litmus)
    {
      X = X + 1;
      if (X != Y + 1) forbidden("critical", X, Y);
      Y = Y + 1;
    }
    omp_set_lock(&lock);
    Z = Z + 1;
    omp_unset_lock(&lock);
  }
  if (Z != Y) forbidden("locks", Z, Y);
  omp_destroy_lock(&lock);
}

// A task sees what came before it was made and what its predecessors did; who waits for it sees what
// it did.
static void tasks(void) {
#pragma omp parallel num_threads(3)
#pragma omp single
  for (long round = 1; round <= rounds; ++round) {
    long first = 0, second = 0;
    X = round;
#pragma omp task shared(first) depend(out : first)
    first = X;
#pragma omp task shared(first, second) depend(in : first) depend(out : second)
    second = first + X;
#pragma omp taskwait
    if (first != round || second != 2 * round) forbidden("tasks", first, second);
#pragma omp taskgroup
    {
#pragma omp task shared(first)
      {
#pragma omp task shared(first)
        first = -round;
      }
    }
    if (first != -round) forbidden("task groups", first, round);
  }
}

static void ordered_and_single(void) {
  X = 0;
#pragma omp parallel num_threads(3)
  {
#pragma omp for ordered schedule(dynamic, 1)
    for (long i = 0; i < rounds; ++i) {
#pragma omp ordered
      {
        if (X != i) forbidden("ordered", X, i);
        X = i + 1;
      }
    }
    for (long round = 0; round < rounds; ++round) {
      long copied = 0;
#pragma omp single copyprivate(copied)
      {
        Y = round;
        copied = round;
      }
      if (copied != round || Y != round) forbidden("copyprivate", copied, Y);
#pragma omp barrier
    }
  }
}

int main(void) {
  omp_set_dynamic(0);
  message_passing();
  store_buffering();
  store_buffering_with_flush();
  causality();
  barriers();
  exclusion();
  tasks();
  ordered_and_single();
  return 0;
}
