#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/locks/elided_lock.h"
#include "assay/locks/spin_lock.h"
#include "assay/maps/bt_map.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/none.h"
#include "tests/maps/bt_map_test_subject.h"

namespace assay::bt_test {

std::vector<variant> variants_of_words() {
  using bt::coarse;
  using bt::optimistic;
  using bt::optimistic_replacing;
  using reclaim::epochs;
  using std::int32_t;
  using std::int64_t;
  using std::uint16_t;
  using std::uint32_t;
  using std::uint64_t;
  using std::uint8_t;
  using set = host::instruction_set;
  return {
      variant_of<uint32_t, uint32_t>("uint32_uint32"),
      variant_of<uint32_t, uint8_t, optimistic, capacities<6, 6, set::avx2>>(
          "uint32_uint8_capacity_6_avx2"),
      variant_of<uint32_t, uint64_t, optimistic, capacities<64, 64, set::scalar>>(
          "uint32_uint64_capacity_64_scalar"),
      variant_of<int64_t, uint64_t, optimistic, capacities<6, 6, set::avx512>>(
          "int64_uint64_capacity_6"),
      variant_of<int64_t, uint64_t, optimistic_replacing, capacities<6, 6, set::scalar>>(
          "int64_uint64_replacing_capacity_6_scalar"),
      variant_of<int64_t, uint64_t, optimistic, capacities<64, 64, set::avx2>>(
          "int64_uint64_capacity_64_avx2"),
      variant_of<int64_t, uint64_t, optimistic_replacing, default_capacities, reclaim::none>(
          "int64_uint64_replacing_never_freed"),
      variant_of<int64_t, padded, coarse<std::mutex>>("int64_padded_coarse_mutex"),
      variant_of<uint64_t, uint64_t, coarse<sync::spin_lock>, capacities<6, 6>>(
          "uint64_uint64_coarse_spin_lock_capacity_6"),
      variant_of<uint64_t, uint64_t, coarse<sync::elided_lock<std::mutex>>, capacities<6, 6>>(
          "uint64_uint64_coarse_elided_capacity_6"),
      variant_of<int32_t, uint16_t, optimistic, capacities<6, 6>, epochs, std::greater<>>(
          "descending_int32_uint16_capacity_6"),
      variant_of<double, uint64_t, coarse<std::mutex>, capacities<6, 6>>(
          "double_uint64_coarse_mutex_capacity_6"),
      variant_of<uint64_t, uint64_t, optimistic, in_arena<capacities<6, 6>>>(
          "uint64_uint64_in_arena_capacity_6"),
      variant_of<grid_point, uint32_t, optimistic_replacing, capacities<6, 64>>(
          "place_uint32_replacing_capacities_6_and_64"),
  };
}

}  // namespace assay::bt_test
