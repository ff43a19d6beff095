#include <assay/locks/elided_shared_lock.h>

#include <cstdio>
#include <mutex>

int main() {
  assay::sync::elided_shared_lock<> lock;
  int low = 1;
  int high = 2;
  {
    const std::scoped_lock writing(lock);
    low = 0;
    high = 3;
  }
  const std::shared_lock reading(lock);
  std::printf("the sum is %d\n", low + high);
}
