// transaction.h for models under relacy: a transaction there is a piece of its thread that no other
// thread interrupts, between two full fences, and one in three aborts before it has begun.
//
// A processor that runs transactions concurrently, and aborts them when they conflict, has no other
// outcomes than these: what committed happened at one moment.
//
// Included before what uses transactions.

#ifndef TESTS_LOCKS_MODEL_TRANSACTIONS_H_
#define TESTS_LOCKS_MODEL_TRANSACTIONS_H_

#define ASSAY_LOCKS_TRANSACTION_H_  // this is in its place

#include <cstdint>

#include "tests/base/model_atomics.h"

namespace assay::sync::transaction {

enum class cause : std::uint8_t { conflict, capacity, asked, other };

constexpr bool available() { return true; }

class status {
 public:
  enum outcome : std::uint8_t { has_begun, again, never };
  explicit constexpr status(outcome found) : found_(found) {}
  [[nodiscard]] bool begun() const { return found_ == has_begun; }
  [[nodiscard]] bool may_succeed_again() const { return found_ == again; }
  [[nodiscard]] enum cause cause() const { return cause::other; }

 private:
  outcome found_;
};

inline status begin() {
  const unsigned drawn = rl::rand(6);
  if (drawn < 2) return status(drawn == 0 ? status::again : status::never);
  rl::ctx().disable_preemption();
  rl::atomic_thread_fence(memory_order_seq_cst);
  return status(status::has_begun);
}

inline void commit() {
  rl::atomic_thread_fence(memory_order_seq_cst);
  rl::ctx().enable_preemption();
}

// Models have no transactions inside of others, which alone are aborted.
template <std::uint8_t code>
void abort() {
  RL_ASSERT(false);
}

}  // namespace assay::sync::transaction

#endif  // TESTS_LOCKS_MODEL_TRANSACTIONS_H_
