// A process that is forked in a task has the tasks that nobody had begun.
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { children = 5 };

int main(void) {
  int bad = 0;
  // The other thread is in a task until the process is forked, so that it begins none of these.
  int busy = 0, forked = 0;
#pragma omp parallel num_threads(2) shared(bad)
#pragma omp single
  {
#pragma omp task shared(busy, forked)
    {
      __atomic_store_n(&busy, 1, __ATOMIC_RELEASE);
      while (__atomic_load_n(&forked, __ATOMIC_ACQUIRE) == 0) usleep(100);
    }
    while (__atomic_load_n(&busy, __ATOMIC_ACQUIRE) == 0) usleep(100);
#pragma omp task if (0) shared(bad, forked)
    {
      int ran = 0;
      for (int i = 0; i < children; ++i) {
#pragma omp task shared(ran)
#pragma omp atomic
        ++ran;
      }
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
#pragma omp taskwait
        _exit(ran);
      }
      __atomic_store_n(&forked, 1, __ATOMIC_RELEASE);
      int status = 0;
      waitpid(child, &status, 0);
      bad = !WIFEXITED(status) || WEXITSTATUS(status) != children;
#pragma omp taskwait  // they count in what is on this task's stack
    }
  }
  if (bad) fprintf(stderr, "ours_fork_in_task: the child did not run its tasks\n");
  return bad;
}
