// Breaks no guideline: sections read tables of their own, and write last, to lines of their own.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "flawed/two_threads.h"

namespace {

assay::flawed::lock lock;
std::array<assay::flawed::table, assay::flawed::thread_count> tables;
std::array<assay::flawed::slot, assay::flawed::thread_count> slots;

[[gnu::noinline]] void add_up(std::size_t thread) {
  const std::scoped_lock held(lock);
  slots[thread].sum += sum_of(tables[thread]);
}

}  // namespace

int main() { assay::flawed::run_threads(add_up); }
