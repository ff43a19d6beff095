#include "assay/workload/index_source.h"

#include <stdexcept>

namespace assay::workload {

std::unique_ptr<index_source> make_index_source(const key_space& /*space*/,
                                                const options& /*options*/, std::uint64_t /*seed*/,
                                                thread_place /*place*/) {
  throw std::invalid_argument("distribution: only \"uniform\" is drawn yet");
}

}  // namespace assay::workload
