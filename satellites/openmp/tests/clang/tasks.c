// Tasks of clang's, and barriers: all have run after a barrier, be they tasks of a target construct,
// too, and the threads that wait at the end of `single` run some of them. It says what is wrong and
// exits with 1, or prints nothing.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int bad = 0;
  for (int round = 0; round < 100; ++round) {
    int done = 0;
#pragma omp parallel num_threads(3) shared(done)
    {
#pragma omp single nowait
      {
#pragma omp target nowait map(tofrom : done)
        {
          for (volatile int i = 0; i < 5000; ++i) continue;
          done = 1;
        }
      }
#pragma omp barrier
      if (done != 1) {
#pragma omp atomic
        ++bad;
      }
    }
  }
  if (bad) fprintf(stderr, "tasks: %d threads did not see what a task had done\n", bad);
  // The maker waits for a task that only another thread can run.
  int ran = 0;
#pragma omp parallel num_threads(2) shared(ran)
#pragma omp single
  {
#pragma omp task shared(ran)
    __atomic_store_n(&ran, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 100000 && __atomic_load_n(&ran, __ATOMIC_ACQUIRE) == 0; ++i) usleep(100);
    if (__atomic_load_n(&ran, __ATOMIC_ACQUIRE) == 0) {
      fprintf(stderr, "tasks: nobody at the barrier ran a task\n");
      bad = 1;
    }
  }
  return bad != 0;
}
