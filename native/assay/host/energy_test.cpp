#include "assay/host/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace assay::host {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

// A directory that looks like the kernel's powercap tree.
class energy_test : public testing::Test {
 public:
  ~energy_test() override { std::filesystem::remove_all(directory_); }

 protected:
  energy_test() {
    std::string name = (std::filesystem::temp_directory_path() / "assay-energy-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }

  void zone(const std::string& folder, const std::string& name, const std::string& energy_uj,
            const std::string& range_uj = "1000000000") {
    std::filesystem::create_directory(directory_ / folder);
    write(folder + "/name", name);
    write(folder + "/max_energy_range_uj", range_uj);
    write(folder + "/energy_uj", energy_uj);
  }
  void write(const std::string& file, const std::string& text) {
    std::ofstream(directory_ / file) << text << '\n';
  }

  std::filesystem::path directory_;
};

TEST_F(energy_test, is_the_difference_in_every_zone) {
  zone("intel-rapl:0", "package-0", "5000000");
  zone("intel-rapl:0:0", "core", "1000000");
  zone("intel-rapl:0:1", "dram", "2000000");
  zone("intel-rapl:1", "package-1", "0");
  zone("intel-rapl:2", "psys", "0");
  zone("intel-rapl-mmio:0", "package-0", "0");  // package-0 again
  energy_meter meter(directory_);
  meter.start();
  write("intel-rapl:0/energy_uj", "17500000");
  write("intel-rapl:0:0/energy_uj", "4000000");
  write("intel-rapl:0:1/energy_uj", "2500000");
  write("intel-rapl:1/energy_uj", "1000000");
  write("intel-rapl:2/energy_uj", "99000000");
  write("intel-rapl-mmio:0/energy_uj", "77000000");
  const energy used = meter.stop();
  EXPECT_THAT(used.joules,
              ElementsAre(Pair("package-0", DoubleEq(12.5)), Pair("package-0/core", DoubleEq(3)),
                          Pair("package-0/dram", DoubleEq(0.5)), Pair("package-1", DoubleEq(1)),
                          Pair("psys", DoubleEq(99))));
  EXPECT_THAT(used.unavailable, IsEmpty());
  EXPECT_THAT(used.total_joules(), Optional(DoubleEq(14)));
}

TEST_F(energy_test, goes_on_where_a_counter_began_again) {
  zone("intel-rapl:0", "package-0", "262143000000", "262143328850");
  energy_meter meter(directory_);
  meter.start();
  write("intel-rapl:0/energy_uj", "671150");
  EXPECT_THAT(meter.stop().joules, ElementsAre(Pair("package-0", DoubleEq(1))));
}

TEST_F(energy_test, says_that_there_are_no_counters) {
  const auto absent = directory_ / "absent";
  for (const auto& directory : {directory_, absent}) {
    energy_meter meter(directory);
    meter.start();
    const energy used = meter.stop();
    EXPECT_THAT(used.joules, IsEmpty());
    EXPECT_THAT(used.unavailable,
                ElementsAre(Pair("package", AllOf(HasSubstr(directory.string()),
                                                  HasSubstr("no energy counters here")))));
    EXPECT_EQ(used.total_joules(), std::nullopt);
  }
}

TEST_F(energy_test, says_why_a_zone_cannot_be_read_and_gives_no_total_without_it) {
  zone("intel-rapl:0", "package-0", "0");
  zone("intel-rapl:0:0", "dram", "0");
  std::filesystem::remove(directory_ / "intel-rapl:0:0/energy_uj");
  // Root may read every file, but no loop.
  std::filesystem::create_symlink("energy_uj", directory_ / "intel-rapl:0:0/energy_uj");
  energy_meter meter(directory_);
  meter.start();
  write("intel-rapl:0/energy_uj", "1000000");
  const energy used = meter.stop();
  EXPECT_THAT(used.joules, ElementsAre(Pair("package-0", DoubleEq(1))));
  EXPECT_THAT(
      used.unavailable,
      ElementsAre(Pair("package-0/dram", AllOf(HasSubstr("intel-rapl:0:0/energy_uj cannot be read"),
                                               HasSubstr("symbolic links")))));
  EXPECT_EQ(used.total_joules(), std::nullopt);
}

TEST_F(energy_test, says_why_where_a_counter_is_gone_or_is_no_number) {
  zone("intel-rapl:0", "package-0", "0");
  zone("intel-rapl:1", "package-1", "many");
  zone("intel-rapl:2", "package-2", "0", "");
  energy_meter meter(directory_);
  meter.start();
  std::filesystem::remove(directory_ / "intel-rapl:0/energy_uj");
  const energy used = meter.stop();
  EXPECT_THAT(used.joules, IsEmpty());
  EXPECT_THAT(used.unavailable,
              ElementsAre(Pair("package-0", EndsWith("No such file or directory")),
                          Pair("package-1", EndsWith("energy_uj holds no number")),
                          Pair("package-2", EndsWith("max_energy_range_uj holds no number"))));
}

}  // namespace
}  // namespace assay::host
