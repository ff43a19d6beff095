// Breaks guideline 2, no system calls: a section writes to a file.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "flawed/two_threads.h"

namespace {

assay::flawed::lock lock;
std::array<assay::flawed::table, assay::flawed::thread_count> tables;
std::array<assay::flawed::slot, assay::flawed::thread_count> slots;
int file = -1;

[[gnu::noinline]] void log_sum(std::uint64_t sum) {
  static_cast<void>(::write(file, &sum, sizeof sum));
}

[[gnu::noinline]] void add_up(std::size_t thread) {
  const std::scoped_lock held(lock);
  const std::uint64_t sum = sum_of(tables[thread]);
  log_sum(sum);
  slots[thread].sum += sum;
}

}  // namespace

int main() {
  file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  assay::flawed::run_threads(add_up);
  ::close(file);
}
