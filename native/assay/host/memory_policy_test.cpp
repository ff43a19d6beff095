#include "assay/host/memory_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace assay::host {
namespace {

TEST(memory_policy, is_kept_by_the_thread_and_those_that_it_starts) {
  std::thread([] {
    for (const auto& [policy, name] : {std::pair(memory_policy::interleave, "interleave"),
                                       std::pair(memory_policy::local, "local")}) {
      try {
        bind_memory(policy);
      } catch (const std::system_error& refused) {
        GTEST_SKIP() << refused.what();  // as in containers that may not place memory
      }
      EXPECT_EQ(memory_policy_in_use(), name);
      std::string of_child;
      std::thread([&] { of_child = memory_policy_in_use(); }).join();
      EXPECT_EQ(of_child, name);
    }
  }).join();
}

TEST(memory_policy, of_one_thread_is_not_that_of_those_before) {
  std::string before, after;
  try {
    before = memory_policy_in_use();
    std::thread([] {
      try {
        bind_memory(memory_policy::interleave);
      } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
        // Then there is nothing to tell apart.
      }
    }).join();
    after = memory_policy_in_use();
  } catch (const std::system_error& refused) {
    GTEST_SKIP() << refused.what();
  }
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace assay::host
