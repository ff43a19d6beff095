#include "assay/host/environment.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "assay/host/allocator.h"
#include "assay/host/placement.h"
#include "assay/host/transactions.h"
#include "assay/locks/transaction.h"

namespace assay::host {
namespace {

using nlohmann::json;
using std::filesystem::path;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A tree of kernel files of a machine that we do not have.
class fake_tree {
 public:
  fake_tree() {
    std::string name =
        (std::filesystem::temp_directory_path() / "assay-environment-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~fake_tree() { std::filesystem::remove_all(root_); }
  fake_tree(const fake_tree&) = delete;
  fake_tree& operator=(const fake_tree&) = delete;

  fake_tree& with(const path& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
    return *this;
  }

  json environment() const { return host::environment(compiled_as(), root_); }

 private:
  path root_;
};

std::string governor_file(unsigned processor) {
  return "sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cpufreq/scaling_governor";
}

TEST(environment, describes_this_machine) {
  const json found = environment(compiled_as());
  EXPECT_FALSE(found["processor"]["model"].get<std::string>().empty());
  EXPECT_GE(found["topology"]["hardware_threads"], bound_to().size());
  EXPECT_EQ(found["topology"]["allowed"], json(bound_to()));
  EXPECT_GE(found["topology"]["hardware_threads"], found["topology"]["cores"]);
  EXPECT_GE(found["topology"]["packages"], 1);
  EXPECT_GE(found["topology"]["numa_nodes"], 1);
  EXPECT_EQ(found["memory"]["page_bytes"], sysconf(_SC_PAGESIZE));
  EXPECT_TRUE(found["kernel"]["release"].is_string());
  for (const char* pinning : {"compact", "scatter", "cores_first"}) {
    const json& marks = found["topology"]["marks"][pinning];
    EXPECT_TRUE(marks["smt"].is_null() || marks["smt"] <= bound_to().size()) << pinning;
    EXPECT_LT(marks["socket"].size(), found["topology"]["packages"]) << pinning;
  }
}

TEST(environment, describes_the_library) {
  const json found = environment(compiled_as());
  for (const char* key : {"commit", "compiler", "flags", "build_type"}) {
    EXPECT_TRUE(found["library"][key].is_string()) << key;
  }
  EXPECT_THAT(found["library"]["flags"].get<std::string>(), HasSubstr("-std="));
}

TEST(environment, describes_the_program_as_told) {
  const json found = environment({.compiler = "Frob 9",
                                  .optimised = true,
                                  .assertions = false,
                                  .address_sanitizer = false,
                                  .thread_sanitizer = true});
  const json expected{{"compiler", "Frob 9"},
                      {"optimised", true},
                      {"assertions", false},
                      {"sanitizers", {"thread"}}};
  EXPECT_EQ(found["program"], expected);
}

// Compared with what the compiler does, not with the macros that it defines.
TEST(compiled_as, knows_whether_assertions_are_on) {
  bool evaluated = false;
  assert((evaluated = true));  // NOLINT(bugprone-assert-side-effect): that is the question
  EXPECT_EQ(compiled_as().assertions, evaluated);
}

TEST(compiled_as, agrees_with_the_build_about_the_compiler) {
  const std::string compiler = environment(compiled_as())["library"]["compiler"];
  EXPECT_THAT(compiled_as().compiler, StartsWith(compiler));
}

TEST(environment, names_the_allocator_that_serves_malloc) {
  const json found = environment(compiled_as())["allocator"];
  EXPECT_EQ(found["name"], allocator_in_use().name);
  EXPECT_EQ(found["library"], allocator_in_use().library);
}

TEST(environment, names_the_transactions_that_there_are_or_says_why_there_are_none) {
  const json found = environment(compiled_as())["transactions"];
  EXPECT_EQ(found["name"], sync::transaction::backend_name());
  EXPECT_EQ(found.contains("because"), found["name"] == "none");
}

// Each in a process of its own, which has not asked for transactions yet.
TEST(transactions_setting_death, decides_which_transactions_a_program_has) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto obey = [](const char* wanted) {
    ::setenv("ASSAY_TRANSACTIONS", wanted, 1);  // NOLINT(concurrency-mt-unsafe)
    obey_transactions_setting();
    std::fprintf(stderr, "%s %s\n", sync::transaction::backend_name(),
                 sync::transaction::why_none());
    std::_Exit(EXIT_SUCCESS);
  };
  EXPECT_EXIT(obey("none"), ::testing::ExitedWithCode(EXIT_SUCCESS),
              "none ASSAY_TRANSACTIONS=none turns them off");
  EXPECT_EXIT(
      obey("rtm"),
      ::testing::ExitedWithCode(sync::transaction::available() ? EXIT_SUCCESS : EXIT_FAILURE),
      HasSubstr(sync::transaction::available()
                    ? std::string("rtm \n")
                    : std::string("ASSAY_TRANSACTIONS=rtm: there are no transactions here: ") +
                          sync::transaction::why_none()));
  EXPECT_EXIT(obey("tme"), ::testing::ExitedWithCode(EXIT_FAILURE),
              HasSubstr(std::string("assay: ASSAY_TRANSACTIONS=tme: there are ") +
                        (sync::transaction::available() ? "rtm" : "no")));
}

TEST(environment, reads_one_governor_and_boost) {
  fake_tree tree;
  for (const unsigned processor : bound_to()) {
    tree.with(governor_file(processor), "performance\n");
  }
  tree.with("sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_EQ(tree.environment()["processor"]["governor"], "performance");
  EXPECT_EQ(tree.environment()["processor"]["boost"], true);
}

TEST(environment, reads_the_boost_of_single_policies) {
  fake_tree tree;
  for (const unsigned processor : bound_to()) {
    tree.with("sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cpufreq/boost", "0\n");
  }
  EXPECT_EQ(tree.environment()["processor"]["boost"], false);
  tree.with("sys/devices/system/cpu/cpu" + std::to_string(bound_to().front()) + "/cpufreq/boost",
            "1\n");
  EXPECT_EQ(tree.environment()["processor"]["boost"], true);
}

TEST(environment, lists_governors_that_differ) {
  fake_tree tree;
  std::string governor = "powersave";
  for (const unsigned processor : bound_to()) {
    tree.with(governor_file(processor), governor);
    governor = "performance";
  }
  const json expected =
      bound_to().size() == 1 ? json("powersave") : json::array({"performance", "powersave"});
  EXPECT_EQ(tree.environment()["processor"]["governor"], expected);
}

TEST(environment, knows_that_no_turbo_means_no_boost) {
  fake_tree tree;
  tree.with("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_EQ(tree.environment()["processor"]["boost"], false);
}

TEST(environment, knows_a_virtual_machine_by_the_processors_flags) {
  fake_tree tree;
  tree.with("proc/cpuinfo", "model name\t: Frob 9000\nflags\t\t: fpu hypervisor\n");
  EXPECT_EQ(tree.environment()["processor"]["model"], "Frob 9000");
  EXPECT_EQ(tree.environment()["virtualised"]["value"], true);
  tree.with("proc/cpuinfo", "model name\t: Frob 9000\nflags\t\t: fpu nohypervisors\n");
  EXPECT_EQ(tree.environment()["virtualised"]["value"], false);
}

TEST(environment, reads_the_chosen_huge_page_setting) {
  fake_tree tree;
  tree.with("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(tree.environment()["memory"]["transparent_huge_pages"], "madvise");
}

TEST(environment, knows_that_addresses_are_not_random_where_the_kernel_turned_it_off) {
  fake_tree tree;
  tree.with("proc/sys/kernel/randomize_va_space", "0\n");
  EXPECT_EQ(tree.environment()["address_randomisation"]["kernel"], 0);
  EXPECT_EQ(tree.environment()["address_randomisation"]["process"], false);
}

TEST(environment, gives_a_reason_for_everything_that_a_machine_does_not_tell) {
  const json found = fake_tree().environment();
  const std::array missing = {&found["processor"]["model"],
                              &found["processor"]["governor"],
                              &found["processor"]["boost"],
                              &found["virtualised"],
                              &found["memory"]["transparent_huge_pages"],
                              &found["address_randomisation"]["kernel"]};
  for (const json* each : missing) {
    EXPECT_FALSE(each->at("unavailable").get<std::string>().empty());
  }
}

}  // namespace
}  // namespace assay::host
