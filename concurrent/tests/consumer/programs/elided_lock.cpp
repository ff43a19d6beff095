#include <assay/locks/elided_lock.h>

#include <cstdio>
#include <thread>

int main() {
  assay::sync::elided_lock<> lock;
  int count = 0;
  const auto add = [&] {
    const std::scoped_lock held(lock);
    ++count;
  };
  std::thread other(add);
  add();
  other.join();
  std::printf("counted to %d\n", count);
}
