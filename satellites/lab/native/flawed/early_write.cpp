// Breaks guideline 4, little time from the first write to the commit: a section first writes that
// it is at work, and works then.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "flawed/two_threads.h"

namespace {

struct alignas(64) slot {
  std::uint64_t sum = 0;
  std::uint64_t works = 0;
};
assay::flawed::lock lock;
std::array<assay::flawed::table, assay::flawed::thread_count> tables;
std::array<slot, assay::flawed::thread_count> slots;

[[gnu::noinline]] void add_up(std::size_t thread) {
  const std::scoped_lock held(lock);
  slots[thread].works += 1;
  slots[thread].sum += sum_of(tables[thread]);
}

}  // namespace

int main() { assay::flawed::run_threads(add_up); }
