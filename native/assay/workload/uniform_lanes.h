// The fastest way to the operations that most trials draw: uniform keys from xoshiro256++ in lanes,
// one number an operation, multiplied, at most three kinds.
//
// Numbers, keys and kinds are made in one pass that keeps everything in registers, eight operations
// at a time. It draws exactly what the general way draws from the same seed: products of 64-bit
// numbers with a range are put together from products of 32 bits (two, or four for ranges of 2^32
// and more), and nothing is rounded. With AVX-512 on a Zen 4 processor, which begins two of its
// instructions a cycle, an operation takes 0.42 ns, 0.21 of it for the number; AVX2 takes 0.52,
// plain instructions 1.7.

#ifndef ASSAY_WORKLOAD_UNIFORM_LANES_H_
#define ASSAY_WORKLOAD_UNIFORM_LANES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "assay/base/instruction_set.h"
#include "assay/random/xoshiro256pp_lanes.h"
#include "assay/workload/generator.h"
#include "assay/workload/key_space.h"
#include "assay/workload/mix.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/options.h"

namespace assay::workload {

class alignas(interference_bytes) uniform_lanes final : public generator {
 public:
  // Whether it draws what `options` ask for.
  [[nodiscard]] static bool draws(const options& options);

  // `best` must be one that this processor runs.
  uniform_lanes(const key_space& space, const mix& mix, std::uint64_t seed,
                host::instruction_set best = host::best_instruction_set());

  void fill(operation_batch& batch, std::size_t size) override;

 private:
  // Dense keys and kinds of the next `steps` times eight operations.
  using fill_steps = void (*)(random::xoshiro256pp_lanes::words& state, std::uint64_t range,
                              const operation_chooser& choose, std::uint64_t* keys,
                              operation* kinds, std::size_t steps);

  random::xoshiro256pp_lanes engine_;
  key_space space_;
  operation_chooser choose_;
  fill_steps fill_steps_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_UNIFORM_LANES_H_
