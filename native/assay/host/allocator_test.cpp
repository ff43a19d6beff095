#include "assay/host/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "assay/host/compiled_as.h"

namespace assay::host {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Other allocators are loaded into whole trials by tests/allocator_test.py.
TEST(allocator, is_that_of_glibc_unless_a_sanitizer_brings_its_own) {
  const allocator found = allocator_in_use();
  EXPECT_FALSE(found.library.empty());
  if (compiled_as().address_sanitizer || compiled_as().thread_sanitizer) {
    EXPECT_EQ(found.name, found.library);
    EXPECT_EQ(found.version, "");
  } else {
    EXPECT_EQ(found.name, "glibc");
    EXPECT_EQ(std::filesystem::path(found.library).filename().string().substr(0, 7), "libc.so");
    EXPECT_NE(found.version, "");
  }
}

TEST(allocator, that_is_required_must_be_there) {
  const allocator found = allocator_in_use();
  EXPECT_NO_THROW(require_allocator(found.name));
  try {
    require_allocator("jemalloc");
    FAIL() << "jemalloc is here";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("must be jemalloc"), HasSubstr(found.library),
                                    HasSubstr("LD_PRELOAD")));
  }
}

}  // namespace
}  // namespace assay::host
