// Every read and write of a real machine, in their sequence, and what becomes of a machine that
// changes.

#include "assay/governor/real_platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <system_error>

#include "assay/governor/training.h"

namespace assay::energy {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string cpu = "/sys/devices/system/cpu/";

// What a test changes of the mocked system while it runs.
struct mocked {
  std::filesystem::path root;
  std::vector<std::string> log;
  std::map<unsigned, counted> counters;
  std::set<unsigned> without_counters;
  std::set<unsigned> taken_apart;  // as those of a processor that was offline
  std::set<unsigned> going;        // offline, and told as online still
  std::string refused;             // a place that refuses writes
  std::string deaf;                // one that takes them and stays as it is
  double now = 0;
  std::function<void(double)> meanwhile = [](double) {};  // is told how long a wait takes

  void write(const std::string& place, const std::string& text) const {
    const std::filesystem::path file = root / place.substr(1);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
};

class mocked_counters final : public processor_counters {
 public:
  mocked_counters(mocked& of, unsigned processor) : of_(of), processor_(processor) {}
  mocked_counters(const mocked_counters&) = delete;
  mocked_counters& operator=(const mocked_counters&) = delete;
  ~mocked_counters() override { of_.log.push_back("close " + std::to_string(processor_)); }

  counted read() override {
    of_.log.push_back("count " + std::to_string(processor_));
    if (of_.without_counters.contains(processor_) || of_.taken_apart.contains(processor_) ||
        of_.going.contains(processor_)) {
      throw std::system_error(ENODEV, std::generic_category());
    }
    return of_.counters[processor_];
  }

 private:
  mocked& of_;
  unsigned processor_;
};

class mocked_kernel final : public kernel {
 public:
  explicit mocked_kernel(mocked& of) : kernel(of.root), of_(of) {}

  std::string read(const std::string& place) override {
    of_.log.push_back("read " + shortened(place));
    return kernel::read(place);
  }
  // Files that this test removes, the kernel's would be gone; one that is open would stay.
  std::string read_again(const std::string& place) override { return read(place); }
  void write(const std::string& place, const std::string& value) override {
    of_.log.push_back("write " + shortened(place) + " " + value);
    if (place == of_.refused) throw std::system_error(EINVAL, std::generic_category(), place);
    if (place != of_.deaf) of_.write(place, value);
  }
  std::unique_ptr<processor_counters> open_counters(unsigned processor) override {
    of_.log.push_back("open " + std::to_string(processor));
    if (of_.without_counters.contains(processor)) {
      throw std::system_error(ENOENT, std::generic_category());
    }
    if (of_.going.contains(processor)) throw std::system_error(ENODEV, std::generic_category());
    of_.taken_apart.erase(processor);
    return std::make_unique<mocked_counters>(of_, processor);
  }
  double now() override { return of_.now; }
  void wait(double seconds) override {
    of_.log.emplace_back("wait");
    of_.now += seconds;
    of_.meanwhile(seconds);
  }

 private:
  static std::string shortened(const std::string& place) {
    return place.starts_with(cpu) ? place.substr(cpu.size()) : place;
  }

  mocked& of_;
};

std::filesystem::path made_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "assay-mocked-XXXXXX").string();
  return mkdtemp(name.data());
}

class real_platform_test : public testing::Test {
 public:
  ~real_platform_test() override { std::filesystem::remove_all(machine_.root); }

 protected:
  real_platform_test() {
    machine_.root = made_folder();
    for (const unsigned number : {0U, 1U}) {
      const std::string policy = cpu + "cpufreq/policy" + std::to_string(number) + "/";
      machine_.write(policy + "affected_cpus", std::to_string(number));
      machine_.write(policy + "related_cpus", std::to_string(number));
      machine_.write(policy + "scaling_driver", "acpi-cpufreq");
      machine_.write(policy + "scaling_governor", "userspace");
      machine_.write(policy + "scaling_available_frequencies", "3000000 2000000 1000000");
      machine_.write(policy + "scaling_min_freq", "1000000");
      machine_.write(policy + "scaling_max_freq", "3000000");
      machine_.write(policy + "scaling_setspeed", "1000000");
    }
    machine_.write(cpu + "online", "0-1");
    machine_.write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Made\n");
    stat(0, 0);
    machine_.write(zone + "name", "package-0");
    machine_.write(zone + "max_energy_range_uj", "10000000");
    machine_.write(zone + "energy_uj", "9000000");
  }

  void stat(int busy_0, int busy_1) {  // ticks
    machine_.write("/proc/stat", "cpu  9 9 9 9 9 9 9\ncpu0 " + std::to_string(busy_0) +
                                     " 0 0 7 0 0 0 0 0 0\ncpu1 " + std::to_string(busy_1) +
                                     " 0 0 7 0 0 0 0 0 0\nintr 1 2\n");
  }
  void by_limits(unsigned number) {
    const std::string policy = cpu + "cpufreq/policy" + std::to_string(number) + "/";
    machine_.write(policy + "scaling_governor", "powersave");
    std::filesystem::remove(machine_.root / (policy + "scaling_available_frequencies").substr(1));
    machine_.write(policy + "cpuinfo_min_freq", "850000");
    machine_.write(policy + "cpuinfo_max_freq", "1210000");
    machine_.write(policy + "scaling_min_freq", "850000");
    machine_.write(policy + "scaling_max_freq", "1210000");
  }
  [[nodiscard]] std::unique_ptr<kernel> made() { return std::make_unique<mocked_kernel>(machine_); }
  void count_on(unsigned number) {
    machine_.counters[number].enabled_ns += 10;
    machine_.counters[number].running_ns += 10;
  }
  std::vector<std::string> log() { return std::exchange(machine_.log, {}); }

  const std::string zone = "/sys/class/powercap/intel-rapl:0/";
  const std::string energy_read = "read " + zone + "energy_uj";
  mocked machine_;
};

std::string error_of(const auto& act) {
  try {
    act();
  } catch (const platform_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(kernel_test, a_file_that_is_read_again_is_read_from_its_start) {
  const std::filesystem::path root = made_folder();
  const auto write = [&](const std::string& text) { std::ofstream(root / "file") << text; };
  kernel of(root);
  EXPECT_THROW((void)of.read_again("/file"), std::system_error);
  for (const std::size_t length : {3U, 10'000U, 1U}) {  // of more than one call, and shorter again
    const std::string text(length, static_cast<char>('a' + length % 20));
    write(text + '\n');
    EXPECT_EQ(of.read_again("/file"), text);
    EXPECT_EQ(of.read("/file"), text);
  }
  std::filesystem::remove_all(root);
}

// As the kernel says that a device has gone: a process that has ended is one.
TEST(kernel_test, a_file_that_can_be_read_no_more_is_opened_anew) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);  // kill(-1) would end all processes
  const std::filesystem::path root = made_folder();
  const std::filesystem::path device = root / "device";
  kernel of(root);
  std::filesystem::create_symlink("/proc/" + std::to_string(child), device);
  EXPECT_THAT(of.read_again("/device/stat"), HasSubstr(std::to_string(child) + " ("));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::filesystem::remove(device);
  std::filesystem::create_symlink("/proc/self", device);
  EXPECT_THROW((void)of.read_again("/device/stat"), std::system_error);
  EXPECT_THAT(of.read_again("/device/stat"), HasSubstr(std::to_string(getpid()) + " ("));
  std::filesystem::remove_all(root);
}

TEST_F(real_platform_test, reads_and_writes_in_this_sequence) {
  real_platform machine(made());
  std::vector<std::string> opening;
  for (const std::string policy : {"policy0", "policy1"}) {
    for (const char* file : {"affected_cpus", "scaling_driver", "scaling_governor", "related_cpus",
                             "scaling_available_frequencies", "scaling_boost_frequencies",
                             "scaling_min_freq", "scaling_max_freq"}) {
      opening.push_back("read cpufreq/" + policy + "/" + file);
    }
  }
  opening.emplace_back("read /proc/cpuinfo");
  for (const char* file : {"name", "max_energy_range_uj", "energy_uj", "energy_uj"}) {
    opening.push_back("read " + zone + file);
  }
  for (const char* last :
       {"read online", "open 0", "count 0", "open 1", "count 1", "read /proc/stat"}) {
    opening.emplace_back(last);
  }
  EXPECT_EQ(log(), opening);
  EXPECT_EQ(machine.machine(), "Made; 2 processors in 2 domains; 1000000-3000000 kHz in 3 steps");
  EXPECT_THAT(machine.domains()[1].frequencies, ElementsAre(1000000, 2000000, 3000000));

  machine.set(1, 2000000);
  EXPECT_THAT(log(), ElementsAre("write cpufreq/policy1/scaling_setspeed 2000000",
                                 "read cpufreq/policy1/scaling_setspeed"));

  machine_.counters = {{0, {1000, 500, 10, 2}}, {1, {1000, 1000, 30, 4}}};
  machine_.now = 0.5;
  stat(25, 50);
  machine_.write(zone + "energy_uj", "2000000");  // it began again at 10 J
  const reading now = machine.read();
  EXPECT_THAT(log(),
              ElementsAre("read online", "count 0", "count 1", "read /proc/stat", energy_read));
  EXPECT_EQ(now.seconds, 0.5);
  EXPECT_EQ(now.domains[0].instructions, 20);  // others had the counters half of the time
  EXPECT_EQ(now.domains[0].cache_misses, 4);
  EXPECT_EQ(now.domains[1].instructions, 30);
  EXPECT_EQ(now.domains[0].busy_seconds, 0.25);
  EXPECT_EQ(now.domains[1].busy_seconds, 0.5);
  EXPECT_EQ(now.joules, 3);
  EXPECT_THAT(machine.take_notes(), IsEmpty());
}

TEST_F(real_platform_test, limits_are_moved_so_that_the_lower_never_exceeds_the_upper) {
  by_limits(0);
  by_limits(1);
  real_platform machine(made());
  EXPECT_THAT(machine.domains()[0].frequencies,
              ElementsAre(850000, 900000, 1000000, 1100000, 1200000, 1210000));
  log();
  machine.set(0, 1200000);
  EXPECT_THAT(log(), ElementsAre("read cpufreq/policy0/scaling_min_freq",
                                 "write cpufreq/policy0/scaling_max_freq 1200000",
                                 "write cpufreq/policy0/scaling_min_freq 1200000",
                                 "read cpufreq/policy0/scaling_max_freq"));
  machine.set(0, 900000);
  EXPECT_THAT(log(), ElementsAre("read cpufreq/policy0/scaling_min_freq",
                                 "write cpufreq/policy0/scaling_min_freq 900000",
                                 "write cpufreq/policy0/scaling_max_freq 900000",
                                 "read cpufreq/policy0/scaling_max_freq"));
}

TEST_F(real_platform_test, keeps_to_limits_that_it_finds_and_to_what_all_have) {
  machine_.write(cpu + "cpufreq/policy0/scaling_max_freq", "2500000");
  machine_.write(cpu + "cpufreq/policy1/scaling_available_frequencies", "900000 2000000 3000000");
  EXPECT_THAT(real_platform(made()).domains()[0].frequencies, ElementsAre(2000000));
  machine_.write(cpu + "cpufreq/policy0/scaling_max_freq", "1000000");
  EXPECT_THAT(error_of([&] { real_platform{made()}; }), HasSubstr("no frequency in common"));
}

TEST_F(real_platform_test, a_processor_may_go_offline_and_come_back) {
  real_platform machine(made());
  machine.set(1, 3000000);
  machine_.counters = {{0, {10, 10, 100, 0}}, {1, {10, 10, 100, 0}}};
  EXPECT_EQ(machine.read().domains[1].instructions, 100);
  machine_.write(cpu + "online", "0");
  log();
  EXPECT_EQ(machine.read().domains[1].instructions, 100);
  EXPECT_THAT(log(),
              ElementsAre("read online", "close 1", "count 0", "read /proc/stat", energy_read));
  EXPECT_THAT(machine.take_notes(), ElementsAre(HasSubstr("processor 1 is offline")));
  machine.set(1, 2000000);  // nothing takes it now
  EXPECT_THAT(log(), IsEmpty());
  machine_.write(cpu + "online", "0-1");
  machine_.counters[1] = {0, 0, 0, 0};  // new counters begin at 0
  (void)machine.read();
  EXPECT_THAT(log(), ElementsAre("read online", "open 1", "count 1",
                                 "write cpufreq/policy1/scaling_setspeed 2000000",
                                 "read cpufreq/policy1/scaling_setspeed", "count 0", "count 1",
                                 "read /proc/stat", energy_read));
  machine_.counters[1] = {10, 10, 7, 0};
  EXPECT_EQ(machine.read().domains[1].instructions, 107);
}

TEST_F(real_platform_test, a_processor_that_comes_back_has_the_limits_that_the_kernel_kept) {
  by_limits(0);
  by_limits(1);
  real_platform machine(made());
  machine.set(1, 1200000);
  machine_.write(cpu + "online", "0");
  (void)machine.read();
  machine.set(1, 900000);
  machine_.write(cpu + "online", "0-1");
  log();
  (void)machine.read();
  EXPECT_THAT(log(), ElementsAre("read online", "open 1", "count 1",
                                 "read cpufreq/policy1/scaling_min_freq",
                                 "write cpufreq/policy1/scaling_min_freq 900000",
                                 "write cpufreq/policy1/scaling_max_freq 900000",
                                 "read cpufreq/policy1/scaling_max_freq", "count 0", "count 1",
                                 "read /proc/stat", energy_read));
}

// As after a suspend, or where a processor was offline between two readings.
TEST_F(real_platform_test, counters_that_count_no_more_are_opened_again) {
  real_platform machine(made());
  machine.set(1, 2000000);
  machine_.counters = {{0, {10, 10, 100, 0}}, {1, {0, 0, 0, 0}}};
  machine_.now = 0.1;
  log();
  (void)machine.read();
  EXPECT_THAT(log(),
              ElementsAre("read online", "count 0", "count 1", "open 1", "close 1", "count 1",
                          "write cpufreq/policy1/scaling_setspeed 2000000",
                          "read cpufreq/policy1/scaling_setspeed", "read /proc/stat", energy_read));
  EXPECT_THAT(machine.take_notes(),
              ElementsAre(HasSubstr("the counters of processor 1 counted no more")));
  machine_.counters = {{0, {20, 20, 200, 0}}, {1, {10, 10, 7, 0}}};
  machine_.now = 0.2;
  EXPECT_EQ(machine.read().domains[1].instructions, 7);
  EXPECT_THAT(machine.take_notes(), IsEmpty());

  machine_.taken_apart = {1};
  log();
  EXPECT_EQ(machine.read().domains[1].instructions, 7);
  EXPECT_THAT(log(),
              ElementsAre("read online", "count 0", "count 1", "open 1", "close 1", "count 1",
                          "write cpufreq/policy1/scaling_setspeed 2000000",
                          "read cpufreq/policy1/scaling_setspeed", "read /proc/stat", energy_read));
}

// The kernel takes its counters away first, and says later that it is offline.
TEST_F(real_platform_test, a_processor_may_be_caught_while_it_goes_offline) {
  real_platform machine(made());
  machine.set(1, 3000000);
  machine_.counters = {{0, {10, 10, 100, 0}}, {1, {10, 10, 100, 0}}};
  machine_.now = 0.1;
  EXPECT_EQ(machine.read().domains[1].instructions, 100);
  machine_.going = {1};
  for (int i = 2; i < 5; ++i) {
    machine_.now = 0.1 * i;
    count_on(0);
    EXPECT_EQ(machine.read().domains[1].instructions, 100);
  }
  EXPECT_THAT(machine.take_notes(),
              ElementsAre(HasSubstr("the counters of processor 1 cannot be opened, as while")));
  log();
  machine.set(1, 2000000);  // nothing takes it now
  EXPECT_THAT(log(), IsEmpty());
  machine_.write(cpu + "online", "0");
  (void)machine.read();
  EXPECT_THAT(machine.take_notes(), ElementsAre(HasSubstr("processor 1 is offline")));
  machine_.now = 100;
  count_on(0);
  machine_.going = {};
  machine_.write(cpu + "online", "0-1");
  log();
  (void)machine.read();
  EXPECT_THAT(log(), Contains("write cpufreq/policy1/scaling_setspeed 2000000"));
}

TEST_F(real_platform_test, one_that_did_not_go_offline_is_counted_and_set_again) {
  real_platform machine(made());
  machine.set(1, 3000000);
  machine_.going = {1};
  (void)machine.read();
  machine_.going = {};
  machine_.counters = {{1, {10, 10, 100, 0}}};
  log();
  (void)machine.read();
  EXPECT_THAT(log(), ElementsAre("read online", "open 1", "count 1",
                                 "write cpufreq/policy1/scaling_setspeed 3000000",
                                 "read cpufreq/policy1/scaling_setspeed", "count 0", "count 1",
                                 "read /proc/stat", energy_read));
  machine_.counters[1] = {20, 20, 107, 0};
  EXPECT_EQ(machine.read().domains[1].instructions, 7);
}

TEST_F(real_platform_test, counters_that_stay_away_while_their_processor_is_online_are_an_error) {
  real_platform machine(made());
  machine_.going = {1};
  (void)machine.read();
  count_on(0);
  machine_.now = 1.9;
  (void)machine.read();
  count_on(0);
  machine_.now = 2.1;
  const std::string error = error_of([&] { (void)machine.read(); });
  EXPECT_THAT(error, HasSubstr("processor 1 cannot be counted: No such device"));
  EXPECT_EQ(error_of([&] { real_platform{made()}; }), error);  // none is going when it starts
}

TEST_F(real_platform_test, a_policy_that_goes_offline_while_it_is_set_refuses_nothing) {
  by_limits(0);
  real_platform machine(made());
  machine_.refused = cpu + "cpufreq/policy1/scaling_setspeed";
  machine_.write(cpu + "cpufreq/policy1/affected_cpus", "");
  machine.set(1, 1000000);
  EXPECT_THAT(machine.take_notes(), ElementsAre(HasSubstr("policy1 took no frequency, as its")));
  std::filesystem::remove(machine_.root /
                          (cpu + "cpufreq/policy0/scaling_min_freq").substr(1));  // as EBUSY
  machine_.write(cpu + "online", "1");
  machine.set(0, 1000000);
  EXPECT_THAT(machine.take_notes(), ElementsAre(HasSubstr("policy0 took no frequency, as its")));
  machine_.write(cpu + "cpufreq/policy1/affected_cpus", "1");
  EXPECT_THAT(error_of([&] { machine.set(1, 1000000); }), HasSubstr("the driver refuses it"));
}

TEST_F(real_platform_test, a_driver_that_refuses_is_an_error_that_names_the_place) {
  real_platform machine(made());
  machine_.refused = cpu + "cpufreq/policy0/scaling_setspeed";
  EXPECT_THAT(error_of([&] { machine.set(0, 3000000); }),
              AllOf(HasSubstr("cannot set 3000000 kHz in " + machine_.refused),
                    HasSubstr("Invalid argument: the driver refuses it")));
  EXPECT_THAT(error_of([&] { machine.set(0, 1500000); }), HasSubstr("has no 1500000 kHz"));
}

TEST_F(real_platform_test, a_frequency_that_is_not_taken_is_an_error_or_a_note) {
  machine_.deaf = cpu + "cpufreq/policy0/scaling_setspeed";
  real_platform exact(made());
  EXPECT_THAT(error_of([&] { exact.set(0, 3000000); }),
              HasSubstr("was set to 3000000 kHz and has 1000000: the hardware does not take it"));
  real_platform tolerant(made(), {.exact = false});
  tolerant.set(0, 3000000);
  EXPECT_THAT(tolerant.take_notes(), ElementsAre(HasSubstr("or heat or another limit")));
}

// The kernel puts limits in force some time after the write has returned.
TEST_F(real_platform_test, limits_are_waited_for) {
  by_limits(0);
  by_limits(1);
  const std::string place = cpu + "cpufreq/policy0/scaling_max_freq";
  machine_.deaf = place;
  real_platform machine(made());
  int looks = 0;
  machine_.meanwhile = [&](double) {
    if (++looks == 3) machine_.write(place, "1000000");
  };
  machine.set(0, 1000000);
  EXPECT_EQ(looks, 3);
  EXPECT_THAT(error_of([&] { machine.set(0, 1200000); }), HasSubstr("and has 1000000"));
  EXPECT_EQ(looks, 13);
  // Where the same is in the way as before, as heat, it does not wait again.
  EXPECT_THAT(error_of([&] { machine.set(0, 1100000); }), HasSubstr("and has 1000000"));
  EXPECT_EQ(looks, 13);
}

TEST_F(real_platform_test, counters_that_vanish_are_an_error_and_energy_is_a_note) {
  real_platform machine(made());
  std::filesystem::remove(machine_.root / (zone + "energy_uj").substr(1));
  EXPECT_FALSE(machine.read().joules.has_value());
  EXPECT_THAT(machine.take_notes(), ElementsAre(HasSubstr("energy is no longer known")));
  EXPECT_FALSE(machine.read().joules.has_value());
  EXPECT_THAT(machine.take_notes(), IsEmpty());
  machine_.without_counters = {1};
  for (const std::string& error :
       {error_of([&] { (void)machine.read(); }), error_of([&] { real_platform{made()}; })}) {
    EXPECT_THAT(error, AllOf(HasSubstr("processor 1 cannot be counted"), HasSubstr("virtual PMU")));
  }
}

TEST_F(real_platform_test, sockets_of_hwmon_count_where_powercap_has_none) {
  std::filesystem::remove_all(machine_.root / "sys/class/powercap");
  const std::string device = "/sys/class/hwmon/hwmon3/";
  machine_.write(device + "name", "amd_energy");
  machine_.write(device + "energy1_label", "Ecore000");
  machine_.write(device + "energy1_input", "1000000");
  machine_.write(device + "energy9_label", "Esocket0");
  machine_.write(device + "energy9_input", "5000000");
  real_platform machine(made());
  machine_.write(device + "energy9_input", "7500000");
  EXPECT_EQ(machine.read().joules, 2.5);
}

TEST_F(real_platform_test, a_machine_without_cpufreq_is_told) {
  std::filesystem::remove_all(machine_.root / "sys/devices/system/cpu/cpufreq");
  EXPECT_THAT(error_of([&] { real_platform{made()}; }), HasSubstr("there is no policy in"));
}

// A counter of 10 J, at 0.9 W: in 25 seconds it begins again twice.
TEST_F(real_platform_test, a_training_reads_energy_before_it_begins_again_twice) {
  real_platform machine(made(), {.load_bytes = 4096});
  std::uint64_t microjoules = 0;
  machine_.write(zone + "energy_uj", "0");
  (void)machine.read();
  machine_.meanwhile = [&](double seconds) {
    microjoules += static_cast<std::uint64_t>(seconds * 900'000);
    machine_.write(zone + "energy_uj", std::to_string(microjoules % 10'000'000));
    for (const unsigned number : {0U, 1U}) {
      counted& one = machine_.counters[number];
      one.enabled_ns += 1'000;
      one.running_ns += 1'000;
      one.instructions += 1'000;
    }
  };
  const training found = train(machine, {.seconds = 25});
  EXPECT_EQ(found.measured.size(), 6U);
  for (const trained& one : found.measured) EXPECT_NEAR(one.watts, 0.9, 1e-6);
}

TEST_F(real_platform_test, a_training_tells_an_energy_counter_that_vanishes_from_none) {
  real_platform machine(made(), {.load_bytes = 4096});
  machine_.meanwhile = [&](double) {
    std::filesystem::remove(machine_.root / (zone + "energy_uj").substr(1));
  };
  EXPECT_THAT(error_of([&] { (void)train(machine, {}); }),
              AllOf(HasSubstr("vanished during the training"), HasSubstr("train again")));
  EXPECT_THAT(error_of([&] { (void)train(machine, {}); }),
              AllOf(HasSubstr("this machine has none"), HasSubstr("assay-governor status")));
}

TEST_F(real_platform_test, loads_run_until_they_are_ended) {
  real_platform machine(made(), {.load_bytes = 4096});
  for (const load which : {load::compute, load::memory}) {
    machine.begin_load(which, 1);
    machine.end_load();
  }
  EXPECT_THAT(error_of([&] { machine.begin_load(load::compute, 3); }), HasSubstr("there are 2"));
}

}  // namespace
}  // namespace assay::energy
