// Exceptions that are thrown and caught inside of a region: in a task, a loop, a critical section,
// a region within it, and after a barrier, ahead of which a thread may run. It says what is wrong
// and exits with 1, or prints nothing.
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

constexpr int rounds = 300;

[[gnu::noinline]] void refuse(int number) {
  throw std::runtime_error("number " + std::to_string(number));
}

// Whether what was thrown is what is caught.
bool caught(int number) {
  try {
    refuse(number);
  } catch (const std::runtime_error& error) {
    return error.what() == "number " + std::to_string(number);
  }
  return false;
}

bool all_caught(int threads) {
  int wrong = 0;
  long counted = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    for (int round = 0; round < rounds; ++round) {
#pragma omp barrier
      wrong += caught(round) ? 0 : 1;
      try {
#pragma omp critical(counting)
        {
          ++counted;
          wrong += caught(round) ? 0 : 1;
        }
        refuse(round);
      } catch (const std::exception&) {
      }
    }
#pragma omp for schedule(dynamic, 2)
    for (int i = 0; i < rounds; ++i) wrong += caught(i) ? 0 : 1;
#pragma omp single
    for (int i = 0; i < rounds; ++i) {
#pragma omp task firstprivate(i) shared(wrong)
      if (!caught(i)) {
#pragma omp atomic
        ++wrong;
      }
#pragma omp taskwait
    }
    int inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
    inner += caught(7) ? 0 : 1;
    wrong += inner;
  }
  return wrong == 0 && counted % rounds == 0 && counted >= rounds;
}

}  // namespace

int main() {
  for (const int threads : {1, 2, 3, 9}) {
    if (all_caught(threads)) continue;
    std::fprintf(stderr, "exceptions: something was not caught, with %d threads\n", threads);
    return 1;
  }
  return 0;
}
