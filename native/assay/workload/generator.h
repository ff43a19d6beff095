// Where operations come from: an engine, a distribution of keys and a mix, behind one virtual call
// a batch.
//
//     const auto next = make_generator(space, {.mix = {20, 10, 70}}, seed);
//     operation_batch batch;
//     next->fill(batch, 512);
//
// The trial loop can thus be compiled once for each map, and not for each map with each engine and
// each distribution, while a batch is filled by loops that each do one thing to all of it: numbers
// from the engine, indices and fractions from those, kinds, keys. The default (uniform keys,
// xoshiro256++, one number an operation) is one loop with everything in registers.
//
// The lengths of ranges are drawn from a stream of their own, so that keys and kinds do not change
// with them.

#ifndef ASSAY_WORKLOAD_GENERATOR_H_
#define ASSAY_WORKLOAD_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "assay/workload/key_space.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/options.h"

namespace assay::workload {

class generator {
 public:
  generator() = default;
  generator(const generator&) = delete;
  generator& operator=(const generator&) = delete;
  virtual ~generator() = default;

  // Replaces what is in `batch` by the next `size` <= batch.capacity operations. The sequence of
  // operations does not depend on how it is divided into batches.
  virtual void fill(operation_batch& batch, std::size_t size) = 0;

  // Feedback: the first `performed` operations of the batch last filled have been performed. Called
  // between two fills of a generator that wants feedback, and only there.
  virtual void feedback(const operation_batch& /*batch*/, std::size_t /*performed*/) {}
  [[nodiscard]] virtual bool wants_feedback() const { return false; }
};

// One draw from a distribution: which key, and a uniform 64-bit number that is independent of it.
struct drawn {
  std::uint64_t index;     // of the key in its key_space
  std::uint64_t fraction;  // chooses the operation
};

// Every key with the same probability, up to range / 2^64.
//
// The 128-bit product x * range of one draw is a fixed-point number in [0, range): its high half is
// the index, its low half the fraction, which is uniform whatever the index (up to range / 2^64
// again). One draw thus serves key and operation. The low bits of x itself would not do: for a
// range that is nearly 2^64 the index takes all bits of x, and an engine's low bits are often its
// worst.
class uniform {
 public:
  explicit constexpr uniform(std::uint64_t range) : range_(range) {}

  [[nodiscard]] constexpr drawn operator()(std::uint64_t x) const {
    __extension__ using uint128 = unsigned __int128;
    const auto product = static_cast<uint128>(x) * range_;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
  }

 private:
  std::uint64_t range_;
};

// The operations of one thread. Throws random::unknown_engine.
[[nodiscard]] std::unique_ptr<generator> make_generator(const key_space& space,
                                                        const options& options, std::uint64_t seed,
                                                        thread_place place = {});

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_GENERATOR_H_
