// Laws that are constant over parts of the key range: a hot set, and weights from a file.
//
//     const strip_table table(empirical({1, 0, 3}, 300));   // 100 keys of 1/400, 100 never, ...
//     table.draw(numbers, piecewise_constant{}, indices);

#ifndef ASSAY_WORKLOAD_HISTOGRAM_H_
#define ASSAY_WORKLOAD_HISTOGRAM_H_

#include <cstdint>
#include <span>
#include <vector>

#include "assay/workload/strips.h"

namespace assay::workload {

// The number of hot keys: `percent` of the range, rounded, at least 1.
[[nodiscard]] std::uint64_t hot_keys(double percent, std::uint64_t range);

// The first hot_keys(keys_percent, range) have `operations_percent` of the operations, the others
// the rest; uniform among either. Where all keys are hot, that is all operations.
[[nodiscard]] std::vector<hat> hot_set(double operations_percent, double keys_percent,
                                       std::uint64_t range);

// Weight i of n is that of the indices from floor(i * range / n) to before
// floor((i + 1) * range / n), uniform among them. With fewer keys than weights, a key has the sum
// of the weights of the parts that begin in it.
[[nodiscard]] std::vector<hat> empirical(std::span<const double> weights, std::uint64_t range);

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_HISTOGRAM_H_
