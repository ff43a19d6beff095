#include "trace.h"

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "caches.h"

namespace assay::coherence {

namespace {

constinit thread_local caches* reported_to = nullptr;
constinit thread_local unsigned reported_as = 0;

}  // namespace

tracing::tracing(caches& all, unsigned processor) noexcept {
  reported_to = &all;
  reported_as = processor;
}

tracing::~tracing() { reported_to = nullptr; }

void report(const volatile void* address, std::size_t bytes, bool writes) noexcept {
  // The caches may use functions that were compiled to be traced.
  caches* const all = std::exchange(reported_to, nullptr);
  if (all == nullptr) return;
  all->access(reported_as, address, bytes, writes);
  reported_to = all;
}

}  // namespace assay::coherence

using assay::coherence::report;

// What compilers call: their names and parameters are ThreadSanitizer's. Orders do not matter, as
// traced threads take turns, but other threads wait meanwhile.
// NOLINTBEGIN(bugprone-reserved-identifier, bugprone-macro-parentheses)
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void* place) { report(place, sizeof place, false); }
void __tsan_vptr_update(void* place, void* /*value*/) { report(place, sizeof place, true); }
void __tsan_read_range(void* place, std::size_t bytes) { report(place, bytes, false); }
void __tsan_write_range(void* place, std::size_t bytes) { report(place, bytes, true); }
// Called by assay/maps/elb_entry.h beside assembler that reads or writes two words at once.
void __tsan_acquire(void* place) { report(place, 2 * sizeof(std::uint64_t), false); }
void __tsan_release(void* place) { report(place, 2 * sizeof(std::uint64_t), true); }
void __tsan_atomic_thread_fence(int /*order*/) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int /*order*/) {}

#define ASSAY_TRACED(bytes)                                                       \
  void __tsan_read##bytes(void* place) { report(place, bytes, false); }           \
  void __tsan_write##bytes(void* place) { report(place, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* place) { report(place, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* place) { report(place, bytes, true); }
ASSAY_TRACED(1)
ASSAY_TRACED(2)
ASSAY_TRACED(4)
ASSAY_TRACED(8)
ASSAY_TRACED(16)

#define ASSAY_TRACED_EXCHANGE(bits, name, word)                                    \
  word __tsan_atomic##bits##_##name(volatile word* place, word with, int /*of*/) { \
    report(place, sizeof(word), true);                                             \
    return __atomic_##name(place, with, __ATOMIC_SEQ_CST);                         \
  }
#define ASSAY_TRACED_COMPARISON(bits, name, word)                                            \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile word* place, word* expected,    \
                                                    word with, int /*of*/, int /*failed*/) { \
    report(place, sizeof(word), true);                                                       \
    return __atomic_compare_exchange_n(place, expected, with, false, __ATOMIC_SEQ_CST,       \
                                       __ATOMIC_SEQ_CST);                                    \
  }
#define ASSAY_TRACED_ATOMIC(bits, word)                                              \
  word __tsan_atomic##bits##_load(const volatile word* place, int /*of*/) {          \
    report(place, sizeof(word), false);                                              \
    return __atomic_load_n(place, __ATOMIC_SEQ_CST);                                 \
  }                                                                                  \
  void __tsan_atomic##bits##_store(volatile word* place, word value, int /*of*/) {   \
    report(place, sizeof(word), true);                                               \
    __atomic_store_n(place, value, __ATOMIC_SEQ_CST);                                \
  }                                                                                  \
  word __tsan_atomic##bits##_exchange(volatile word* place, word with, int /*of*/) { \
    report(place, sizeof(word), true);                                               \
    return __atomic_exchange_n(place, with, __ATOMIC_SEQ_CST);                       \
  }                                                                                  \
  ASSAY_TRACED_EXCHANGE(bits, fetch_add, word)                                       \
  ASSAY_TRACED_EXCHANGE(bits, fetch_sub, word)                                       \
  ASSAY_TRACED_EXCHANGE(bits, fetch_and, word)                                       \
  ASSAY_TRACED_EXCHANGE(bits, fetch_or, word)                                        \
  ASSAY_TRACED_EXCHANGE(bits, fetch_xor, word)                                       \
  ASSAY_TRACED_COMPARISON(bits, strong, word)                                        \
  ASSAY_TRACED_COMPARISON(bits, weak, word)
ASSAY_TRACED_ATOMIC(8, std::uint8_t)
ASSAY_TRACED_ATOMIC(16, std::uint16_t)
ASSAY_TRACED_ATOMIC(32, std::uint32_t)
ASSAY_TRACED_ATOMIC(64, std::uint64_t)

// The linker has calls of the functions that are named here come to these (--wrap).
#define ASSAY_TRACED_LOCK(function, lock)       \
  int __real_##function(lock* place);           \
  int __wrap_##function(lock* place);           \
  int __wrap_##function(lock* place) {          \
    report(place, sizeof(std::uint32_t), true); \
    return __real_##function(place);            \
  }
ASSAY_TRACED_LOCK(pthread_mutex_lock, pthread_mutex_t)
ASSAY_TRACED_LOCK(pthread_mutex_unlock, pthread_mutex_t)
ASSAY_TRACED_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
ASSAY_TRACED_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
ASSAY_TRACED_LOCK(pthread_rwlock_unlock, pthread_rwlock_t)

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier, bugprone-macro-parentheses)
