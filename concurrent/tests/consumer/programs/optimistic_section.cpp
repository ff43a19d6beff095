#include <assay/locks/optimistic_section.h>

#include <cstdio>

int main() {
  assay::sync::optimistic_section<> lock;
  assay::sync::section_word<int> low{1};
  assay::sync::section_word<int> high{2};
  lock.write([&] {
    low.write(0);
    high.write(3);
  });
  std::printf("the sum is %d\n", lock.read([&] { return low.read() + high.read(); }));
}
