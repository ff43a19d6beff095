#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/locks/spin_lock.h"
#include "assay/maps/bt_map.h"
#include "assay/reclaim/none.h"
#include "tests/maps/bt_map_test_subject.h"
#include "tests/maps/trees_test_types.h"

namespace assay::bt_test {

std::vector<variant> variants_of_records() {
  using bt::coarse;
  using bt::optimistic;
  using bt::optimistic_replacing;
  using std::string;
  using std::uint64_t;
  using trees_test::moody;
  using set = host::instruction_set;
  return {
      variant_of<uint64_t, string, optimistic, capacities<6, 6>>("uint64_string_capacity_6"),
      variant_of<std::uint32_t, wide, optimistic_replacing, capacities<64, 64>>(
          "uint32_wide_replacing_capacity_64"),
      variant_of<uint64_t, string, coarse<sync::spin_lock>>("uint64_string_coarse_spin_lock"),
      variant_of<string, uint64_t>("string_uint64"),
      variant_of<string, string, optimistic_replacing, capacities<6, 6, set::avx2>>(
          "string_string_replacing_capacity_6_avx2"),
      variant_of<string, wide, coarse<std::mutex>, capacities<6, 6, set::scalar>>(
          "string_wide_coarse_mutex_capacity_6_scalar"),
      variant_of<string, uint64_t, coarse<sync::spin_lock>, capacities<64, 64>, reclaim::none>(
          "string_uint64_coarse_spin_lock_capacity_64_never_freed"),
      variant_of<title, string, optimistic, capacities<6, 6>>("title_string_capacity_6"),
      variant_of<moody, moody, optimistic, capacities<6, 6>, trees_test::retires_once>(
          "moody_moody_capacity_6_retired_once"),
  };
}

}  // namespace assay::bt_test
