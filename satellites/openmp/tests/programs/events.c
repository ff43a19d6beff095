// environment: OMP_CANCELLATION=true
// Tasks with events where somebody must be told: one that is not deferred, one that is cancelled
// before its body runs, and a successor that must not stand in the way of what a task waits for. It
// says what is wrong and exits with 1, or prints nothing.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int bad = 0;
static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "events: %s\n", what);
  bad = 1;
}

static omp_event_handle_t fulfilled_later;
static int is_set;

static void* fulfil_later(void* unused) {
  while (__atomic_load_n(&is_set, __ATOMIC_ACQUIRE) == 0) usleep(100);
  usleep(20000);  // until who waits for it sleeps
  omp_fulfill_event(fulfilled_later);
  return unused;
}

static void undeferred(void) {
  pthread_t other;
  pthread_create(&other, NULL, fulfil_later, NULL);
  int done = 0;
#pragma omp parallel
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event) if (0) shared(done)
    {
      fulfilled_later = event;
      __atomic_store_n(&is_set, 1, __ATOMIC_RELEASE);
      done = 1;
    }
  }
  pthread_join(other, NULL);
  expect(done, "a task that is not deferred did not run");
}

static void cancelled(void) {
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
  {
    for (int i = 0; i < 20; ++i) {
      omp_event_handle_t event;
#pragma omp task detach(event)
      omp_fulfill_event(event);
    }
#pragma omp task
    {
#pragma omp cancel taskgroup
    }
  }
}

static void successor(void) {
  int first = 0, second = 0, third = 0, inner = 0, ran = 0;
#pragma omp parallel
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : first)
    ;
#pragma omp taskyield
#pragma omp task depend(in : first) shared(ran)
    ran = 1;
#pragma omp task depend(out : second) firstprivate(event) shared(inner, third)
    {
#pragma omp task depend(out : third) shared(inner)
      inner = 1;
      omp_fulfill_event(event);
#pragma omp taskwait
      expect(inner, "a taskwait did not wait");
    }
  }
  expect(ran && inner, "a task did not run");
  expect(first + second + third == 0, "a dependence was written");
}

int main(void) {
  for (int threads = 1; threads <= 3; ++threads) {
    omp_set_num_threads(threads);
    __atomic_store_n(&is_set, 0, __ATOMIC_RELAXED);
    undeferred();
    cancelled();
    successor();
  }
  return bad;
}
