#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/maps/radix_map.h"
#include "tests/maps/bt_map_test_subject.h"

namespace assay::bt_test {

// Keys of the type long long, which is not std::int64_t here: their numbers are spread over three
// digits that lie far apart, so that ways are long although there are few keys.
using spread_number = long long;
template <>
struct numbered<spread_number> {
  static spread_number made(std::uint64_t of) {
    return static_cast<spread_number>(of / 60 << 34U | of / 10 % 6 << 16U | of % 10 << 7U);
  }
  static std::uint64_t number(spread_number made) {
    const auto digits = static_cast<std::uint64_t>(made);
    return (digits >> 34U) * 60 + (digits >> 16U) % 8 * 10 + (digits >> 7U) % 16;
  }
};

std::vector<variant> variants_of_digits() {
  using bt::optimistic;
  using std::string;
  using std::uint32_t;
  using std::uint64_t;
  using set = host::instruction_set;
  return {
      variant_of<std::int64_t, uint64_t, optimistic, by_digits<>>("digits_int64_uint64"),
      variant_of<std::int64_t, uint64_t, optimistic, by_digits<6, set::scalar>>(
          "digits_int64_uint64_capacity_6_scalar"),
      variant_of<spread_number, uint64_t, optimistic, by_digits<6>>(
          "digits_spread_uint64_capacity_6"),
      variant_of<uint32_t, std::uint8_t, optimistic, by_digits<64, set::avx2>>(
          "digits_uint32_uint8_capacity_64_avx2"),
      variant_of<uint32_t, string, optimistic, by_digits<6>>("digits_uint32_string_capacity_6"),
      variant_of<string, uint64_t, optimistic, by_digits<>>("digits_string_uint64"),
      variant_of<string, string, optimistic, by_digits<6, set::avx2>>(
          "digits_string_string_capacity_6_avx2"),
      variant_of<pair_of_numbers, uint64_t, optimistic, by_digits<6>>(
          "digits_pair_uint64_capacity_6"),
  };
}

}  // namespace assay::bt_test
