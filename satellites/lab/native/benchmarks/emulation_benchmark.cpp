// How many small transactions a second does assay-rtm emulate in each thread? Run under it:
//
//     assay-rtm emulation_benchmark 2
//
// The threads each add to a word of their own, and so have no conflicts. Prints one number.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t transactions = 2000;  // of each thread

void add_in_transactions(std::uint64_t& word) {
  while (word < transactions) {
    std::uint32_t status = ~0U;
    asm volatile("xbegin 1f\n1:" : "+a"(status) : : "memory");
    if (status != ~0U) continue;
    ++word;
    asm volatile("xend" : : : "memory");
  }
}

struct alignas(64) counter {
  std::uint64_t word = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  std::vector<counter> counters(threads);
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> all;
    for (counter& each : counters) all.emplace_back([&each] { add_in_transactions(each.word); });
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f\n", static_cast<double>(transactions) / took.count());
}
