// Variants with the smallest and greatest capacities and those around the sizes of vectors: for
// each policy, of words and of records. bt_map_capacities_test.cpp has every capacity, but few
// operations.

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "assay/maps/bt_map.h"
#include "tests/maps/bt_map_test_fixture.h"
#include "tests/maps/bt_map_test_subject.h"

namespace assay::bt_test {

std::vector<variant> variants_of_capacities() {
  using bt::coarse;
  using bt::optimistic;
  using bt::optimistic_replacing;
  using std::string;
  using std::uint32_t;
  using std::uint64_t;
  return {
      variant_of<uint32_t, uint32_t, optimistic, capacities<33, 33>>(
          "uint32_uint32_capacities_33_and_33"),
      variant_of<uint64_t, uint64_t, optimistic_replacing, capacities<31, 7>>(
          "uint64_uint64_replacing_capacities_31_and_7"),
      variant_of<uint64_t, uint64_t, coarse<std::mutex>, capacities<7, 32>>(
          "uint64_uint64_coarse_mutex_capacities_7_and_32"),
      variant_of<uint64_t, string, optimistic, capacities<32, 6>>(
          "uint64_string_capacities_32_and_6"),
      variant_of<string, string, optimistic_replacing, capacities<7, 7>>(
          "string_string_replacing_capacities_7_and_7"),
      variant_of<string, uint64_t, optimistic, capacities<63, 64>>(
          "string_uint64_capacities_63_and_64"),
      variant_of<string, uint64_t, coarse<std::mutex>, capacities<33, 31>>(
          "string_uint64_coarse_mutex_capacities_33_and_31"),
  };
}

}  // namespace assay::bt_test
