// Breaks guideline 3, what is written most is read least: every section counts itself in one word.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "flawed/two_threads.h"

namespace {

assay::flawed::lock lock;
std::array<assay::flawed::table, assay::flawed::thread_count> tables;
std::array<assay::flawed::slot, assay::flawed::thread_count> slots;
alignas(64) std::uint64_t sections;

[[gnu::noinline]] void add_up(std::size_t thread) {
  const std::scoped_lock held(lock);
  slots[thread].sum += sum_of(tables[thread]);
  ++sections;
}

}  // namespace

int main() { assay::flawed::run_threads(add_up); }
