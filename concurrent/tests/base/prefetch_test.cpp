#include "assay/base/prefetch.h"

#include <gtest/gtest.h>

namespace assay::sync {
namespace {

TEST(prefetch, takes_any_address_and_changes_nothing) {
  const int number = 7;
  for (const int* address : {&number, static_cast<const int*>(nullptr)}) {
    prefetch(address);
    prefetch_to_write(address);
  }
  EXPECT_EQ(number, 7);
}

}  // namespace
}  // namespace assay::sync
