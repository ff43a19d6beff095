// A task that ends with an event, which any thread brings about.
#include <omp.h>
#include <pthread.h>

#include "api_check.h"

static void* fulfil(void* event) {
  omp_fulfill_event((omp_event_handle_t)(omp_uintptr_t)event);
  return NULL;
}

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp master
  for (int round = 0; round < 100; ++round) {
    omp_event_handle_t event;
    int done = 0, after = 0;
#pragma omp task detach(event) shared(done) depend(out : done)
    done = 1;
#pragma omp task shared(done, after) depend(in : done)
    after = done;
    pthread_t own;
    CHECK(pthread_create(&own, NULL, fulfil, (void*)(omp_uintptr_t)event) == 0);
#pragma omp taskwait
    CHECK(pthread_join(own, NULL) == 0);
    CHECK_EQUAL(after, 1);
  }
  return 0;
}
