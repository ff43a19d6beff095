#include "assay/workload/key_space.h"

#include "assay/base/instruction_set.h"

namespace assay::workload {
namespace {

using host::best_instruction_set;
using host::instruction_set;

// Compilers make vectors of this loop where there is a vector product of 64-bit numbers, which is
// what AVX-512 adds.
[[gnu::always_inline]] inline void spread_all(const spreader& spreader,
                                              std::span<std::uint64_t> numbers) {
  const auto spread = spreader;  // `numbers` may overlap anything; this stays in registers
  for (auto& number : numbers) number = spread(number);
}

void spread_plainly(const spreader& spread, std::span<std::uint64_t> numbers) {
  spread_all(spread, numbers);
}

#if defined(__x86_64__)
ASSAY_AVX512 void spread_avx512(const spreader& spread, std::span<std::uint64_t> numbers) {
  spread_all(spread, numbers);
}
#endif

}  // namespace

void spreader::all(std::span<std::uint64_t> numbers) const {
#if defined(__x86_64__)
  static const bool with_avx512 = best_instruction_set() == instruction_set::avx512;
  if (with_avx512) return spread_avx512(*this, numbers);
#endif
  spread_plainly(*this, numbers);
}

}  // namespace assay::workload
