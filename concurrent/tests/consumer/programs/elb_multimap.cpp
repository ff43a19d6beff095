#include <assay/maps/elb_multimap.h>

#include <cstdio>

int main() {
  assay::elb_multimap<unsigned, unsigned> orders;
  auto handle = orders.attach();
  handle.insert(7, 1001);
  handle.insert(7, 1002);
  handle.erase(7, 1001);
  handle.visit(7, [](unsigned order) { std::printf("customer 7 ordered %u\n", order); });
}
