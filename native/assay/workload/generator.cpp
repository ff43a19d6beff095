#include "assay/workload/generator.h"

#include "assay/random/xoshiro256pp.h"

namespace assay::workload {

std::unique_ptr<generator> make_generator(const key_space& space, const options& options,
                                          std::uint64_t seed, thread_place /*place*/) {
  return std::make_unique<basic_generator<random::xoshiro256pp, uniform>>(
      random::xoshiro256pp(seed), uniform(space.range()), space, options.mix);
}

}  // namespace assay::workload
