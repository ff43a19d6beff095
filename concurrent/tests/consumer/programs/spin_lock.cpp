#include <assay/locks/spin_lock.h>

#include <cstdio>
#include <mutex>
#include <thread>

int main() {
  assay::sync::spin_lock lock;
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
