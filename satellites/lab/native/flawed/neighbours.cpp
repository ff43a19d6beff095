// Breaks guideline 1, spatial locality: what belongs to different threads is in one line.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "flawed/two_threads.h"

namespace {

assay::flawed::lock lock;
std::array<assay::flawed::table, assay::flawed::thread_count> tables;
alignas(64) std::array<std::uint64_t, assay::flawed::thread_count> sums;

[[gnu::noinline]] void add_up(std::size_t thread) {
  const std::scoped_lock held(lock);
  const std::uint64_t sum = sum_of(tables[thread]);
  sums[thread] += sum;
}

}  // namespace

int main() { assay::flawed::run_threads(add_up); }
