// Trees of words of 64 bits.

#include <cstdint>
#include <vector>

#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "tests/maps/elb_test_variants.h"

namespace assay::elb_test {

std::vector<variant> variants_of_words() {
  using reclaim::epochs;
  using reclaim::hazard_pointers;
  using packed = elb::element<std::int32_t, std::uint32_t, 31, 32>;  // listing 5.3
  return {
      variant_of<std::uint64_t, hazard_pointers, elb_nodes<6>>("uint64_hazard_pointers_6"),
      variant_of<packed, epochs, elb_nodes<7, 6>>("packed_epochs_7_6"),
      variant_of<std::uint64_t, reclaim::none, elb_narrow>("uint64_none_narrow"),
      variant_of<std::uint64_t, hazard_pointers, elb_nodes<70, 9>>("uint64_hazard_pointers_70_9"),
      variant_of<std::uint64_t, epochs, elb_nodes<6, 70>>("uint64_epochs_6_70"),
      variant_of<packed, hazard_pointers, elb_wide>("packed_hazard_pointers_wide"),
  };
}

}  // namespace assay::elb_test
