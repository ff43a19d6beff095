// Breaks guideline 5, sections may be large: each word has a lock of its own, and a transaction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "flawed/two_threads.h"

namespace {

constexpr std::size_t cells = 8;
struct alignas(64) row {
  std::array<std::uint64_t, cells> cell{};
};
std::array<assay::flawed::lock, cells> locks;
std::array<row, assay::flawed::thread_count> rows;

[[gnu::noinline]] void count_all(std::size_t thread) {
  for (std::size_t i = 0; i < cells; ++i) {
    const std::scoped_lock held(locks[i]);
    ++rows[thread].cell[i];
  }
}

}  // namespace

int main() { assay::flawed::run_threads(count_all); }
