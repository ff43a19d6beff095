#include <assay/reclaim/hazard_pointers.h>

#include <cstdio>

int main() {
  assay::reclaim::hazard_pointers domain;
  std::atomic<int*> shared = new int(1);
  {
    auto me = domain.join();
    auto guard = me.pin();
    std::printf("read %d\n", *guard.protect(0, shared));
    guard.retire(shared.exchange(nullptr));  // freed when no guard protects it
  }
}
