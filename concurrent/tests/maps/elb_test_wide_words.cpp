// Trees of words of 128 bits.

#include <cstdint>
#include <vector>

#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "tests/maps/elb_test_variants.h"

namespace assay::elb_test {

std::vector<variant> variants_of_wide_words() {
  using pair = elb::element<std::uint64_t, std::int64_t, 64, 63>;
  return {
      variant_of<elb::wide, reclaim::hazard_pointers, elb_nodes<6>>("wide_hazard_pointers_6"),
      variant_of<pair, reclaim::epochs, elb_nodes<6, 8>>("pair_epochs_6_8"),
  };
}

}  // namespace assay::elb_test
