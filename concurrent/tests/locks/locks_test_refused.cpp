// What must not compile: REFUSED, a declaration or statement.

#include <array>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "assay/locks/elided_lock.h"
#include "assay/locks/elided_shared_lock.h"
#include "assay/locks/optimistic_section.h"

namespace assay::sync {

struct without_try_lock {
  void lock() {}
  void unlock() {}
};
struct observes_nothing {};

struct three_words {
  std::array<std::uint64_t, 3> words;
};

const int& reference() {
  static const int number = 1;
  return number;
}

void refused() { REFUSED; }

}  // namespace assay::sync
