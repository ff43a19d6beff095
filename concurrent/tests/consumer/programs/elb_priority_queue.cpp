#include <assay/maps/elb_priority_queue.h>

#include <cstdio>

int main() {
  assay::elb_priority_queue<unsigned> times;
  auto handle = times.attach();
  handle.push(30);
  handle.push(10);
  handle.push(10);
  while (const auto time = handle.try_pop()) std::printf("%u\n", *time);
}
