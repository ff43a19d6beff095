// Where key indices come from: an engine and a distribution, behind one virtual call a batch.
//
// A generator makes a batch in four steps, and a distribution is the first of them, if it needs to
// know nothing else:
//
//     fill      which keys, as indices below the range, and a number for each operation's choice
//     (choose)  the operations' kinds, by the generator
//     settle    indices that depend on the kind, if any: an insert of the next new key
//     (keys)    the keys of the indices, and the last keys of ranges, by the generator
//
// A new distribution is a class here, a kind in options.h, a case in make_index_source() and in
// check.cpp, and a name: in requests (trial/request.cpp and its schema) and in experiments (their
// grammar and its schema).

#ifndef ASSAY_WORKLOAD_INDEX_SOURCE_H_
#define ASSAY_WORKLOAD_INDEX_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "assay/workload/key_space.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/options.h"

namespace assay::workload {

class index_source {
 public:
  index_source() = default;
  index_source(const index_source&) = delete;
  index_source& operator=(const index_source&) = delete;
  virtual ~index_source() = default;

  // Replaces `indices` by the next keys' indices, and `fractions`, as many and at most
  // operation_batch::capacity, by numbers that choose the operations: uniform over 64 bits and
  // independent of the indices. With options.draws == draws::two each is a number that the engine
  // drew for this alone. Neither sequence depends on how it is divided into calls.
  virtual void fill(std::span<std::uint64_t> indices, std::span<std::uint64_t> fractions) = 0;

  // Replaces the `indices` that depend on what is done with the key. Called once after each fill,
  // with the same operations.
  virtual void settle(std::span<const operation> /*kinds*/, std::span<std::uint64_t> /*indices*/) {}

  // As those of generator.
  virtual void feedback(const operation_batch& /*batch*/, std::size_t /*performed*/) {}
  [[nodiscard]] virtual bool wants_feedback() const { return false; }
};

// The indices of one thread, for every distribution but the uniform one. What all threads must
// agree on (which keys are the hot ones) is derived from space.seed(), the rest from `seed`. Throws
// random::unknown_engine.
[[nodiscard]] std::unique_ptr<index_source> make_index_source(const key_space& space,
                                                              const options& options,
                                                              std::uint64_t seed,
                                                              thread_place place);

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_INDEX_SOURCE_H_
