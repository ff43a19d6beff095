#include <assay/maps/elb_priority_queue.h>

#include <cstdio>

int main() {
  assay::elb_priority_queue<unsigned, unsigned> events;
  auto handle = events.attach();
  handle.push(30, 1);
  handle.push(10, 2);
  while (const auto event = handle.try_pop())
    std::printf("time %u: event %u\n", event->first, event->second);
}
