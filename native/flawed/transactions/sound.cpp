// Breaks no guideline: sections read tables of their own, and write last, to lines of their own.

#include <array>
#include <cstddef>
#include <cstdint>

#include "flawed/transactions/elided.h"

namespace {

struct alignas(64) slot {
  std::uint64_t sum = 0;
};
assay::flawed::elided lock;
std::array<assay::flawed::table, assay::flawed::thread_count> tables;
std::array<slot, assay::flawed::thread_count> slots;

[[gnu::noinline]] void add_up(std::size_t thread) {
  lock.run([=] { slots[thread].sum += sum_of(tables[thread]); });
}

}  // namespace

int main() { assay::flawed::run_threads(add_up); }
