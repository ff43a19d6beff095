#include "assay/host/usage.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>

#include "assay/host/clock.h"
#include "assay/host/placement.h"

namespace assay::host {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

constexpr std::array names = {"cycles", "instructions", "cache_misses", "branch_misses",
                              "migrations"};

// Memory that is certainly not resident until it is touched.
class untouched_pages {
 public:
  explicit untouched_pages(std::size_t pages)
      : bytes_(pages * page),
        begin_(static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    madvise(begin_, bytes_, MADV_NOHUGEPAGE);
  }
  ~untouched_pages() { munmap(begin_, bytes_); }
  untouched_pages(const untouched_pages&) = delete;
  untouched_pages& operator=(const untouched_pages&) = delete;

  void touch() {
    for (std::size_t i = 0; i < bytes_; i += page) {
      begin_[i] = 1;
    }
  }

  static constexpr std::size_t page = 4096;

 private:
  std::size_t bytes_;
  char* begin_;
};

TEST(now_ns, never_goes_back) {
  std::uint64_t last = now_ns();
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t now = now_ns();
    ASSERT_LE(last, now);
    last = now;
  }
}

TEST(thread_meter, counts_each_event_or_says_why_not) {
  thread_meter meter;
  meter.start();
  meter.stop();
  for (const char* name : names) {
    const auto& counters = meter.reading().counters;
    const auto& unavailable = meter.reading().unavailable;
    EXPECT_NE(counters.contains(name), unavailable.contains(name)) << name;
    if (unavailable.contains(name)) {
      EXPECT_THAT(unavailable.at(name), Not(IsEmpty())) << name;
    }
  }
}

TEST(thread_meter, holds_no_file_open_once_stopped) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  thread_meter meter;
  meter.start();
  const auto meanwhile = open_files();
  meter.stop();
  const usage& found = meter.reading();
  EXPECT_GE(meanwhile - before, std::ssize(found.counters));
  EXPECT_EQ(open_files(), before);
}

// While it lives, the process can open no more files.
class no_more_files {
 public:
  no_more_files() {
    getrlimit(RLIMIT_NOFILE, &normal_);
    const rlimit none{.rlim_cur = 0, .rlim_max = normal_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~no_more_files() { setrlimit(RLIMIT_NOFILE, &normal_); }
  no_more_files(const no_more_files&) = delete;
  no_more_files& operator=(const no_more_files&) = delete;

 private:
  rlimit normal_{};
};

TEST(resident_bytes, says_that_it_cannot_open_a_file) {
  const auto ask = [] {
    const no_more_files limit;
    resident_bytes();
  };
  EXPECT_THAT(ask, ThrowsMessage<std::runtime_error>(
                       "/proc/self/status cannot be opened: Too many open files"));
}

TEST(thread_meter, counts_page_faults_between_start_and_stop_only) {
  // Far apart, as a sanitizer touches pages of its own for each of ours.
  untouched_pages before(4096);
  untouched_pages during(64);
  untouched_pages after(4096);
  thread_meter meter;
  before.touch();
  meter.start();
  during.touch();
  meter.stop();
  after.touch();
  EXPECT_GE(meter.reading().minor_faults, 64);
  EXPECT_LT(meter.reading().minor_faults, 4096);
}

TEST(event_name, is_lower_case_and_leaves_out_only_the_prefix_of_the_kernels_own_events) {
  EXPECT_EQ(event_name("L1-dcache-load-misses"), "l1_dcache_load_misses");
  EXPECT_EQ(event_name("perf::PAGE-FAULTS:u"), "page_faults_u");
  EXPECT_EQ(event_name("skl::MEM_LOAD_RETIRED:L1_MISS"), "skl_mem_load_retired_l1_miss");
  EXPECT_EQ(event_name("perf_raw::r01c0"), "perf_raw_r01c0");
  EXPECT_EQ(event_name("perf::"), "");
}

TEST(known_events, are_those_of_the_kernel_whatever_the_processor_counts) {
  const auto events = known_events();
  EXPECT_THAT(events, Contains("PAGE-FAULTS"));
  EXPECT_THAT(events, Contains("L1-DCACHE-LOAD-MISSES"));
}

TEST(thread_meter, counts_the_events_that_are_asked_for_by_their_names) {
  untouched_pages pages(64);
  thread_meter meter(
      std::vector<std::string>{"page-faults", "perf::PAGE-FAULTS:u", "Instructions"});
  meter.start();
  pages.touch();
  meter.stop();
  const usage& found = meter.reading();
  for (const char* name : {"page_faults", "page_faults_u"}) {
    if (found.unavailable.contains(name)) GTEST_SKIP() << found.unavailable.at(name);
    EXPECT_GE(found.counters.at(name).count(), 64) << name;
  }
  // Counted in every trial: it does not take another of the processor's counters.
  EXPECT_EQ(found.counters.size() + found.unavailable.size(), names.size() + 2);
}

TEST(thread_meter, says_why_it_does_not_count_an_event_that_libpfm_does_not_know) {
  thread_meter meter(std::vector<std::string>{"no-such-event", "page-faults:nowhere"});
  meter.start();
  meter.stop();
  const auto& unavailable = meter.reading().unavailable;
  EXPECT_EQ(unavailable.at("no_such_event"), "libpfm: event not found");
  EXPECT_THAT(unavailable.at("page_faults_nowhere"), StartsWith("libpfm: "));
}

TEST(thread_meter, says_how_long_the_thread_waited_where_the_kernel_tells) {
  thread_meter meter;
  meter.start();
  meter.stop();
  EXPECT_EQ(meter.reading().waited_ns.has_value(),
            std::filesystem::exists("/proc/thread-self/schedstat"));
}

TEST(thread_meter, does_not_count_what_other_threads_do) {
  thread_meter meter;
  meter.start();
  std::jthread([] { untouched_pages(512).touch(); }).join();
  meter.stop();
  EXPECT_LT(meter.reading().minor_faults, 512);
}

TEST(thread_meter, counts_waiting_as_a_voluntary_switch) {
  thread_meter meter;
  meter.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  meter.stop();
  EXPECT_GE(meter.reading().voluntary_switches, 1);
}

TEST(thread_meter, counts_migrations) {
  const placement all({.kind = pinning::policy::compact, .processors = {}}, 2);
  if (all.processors().size() < 2) {
    GTEST_SKIP() << "one processor: there is nowhere to migrate to";
  }
  std::jthread([&] {
    all.bind_this_thread(0);
    thread_meter meter;
    meter.start();
    all.bind_this_thread(1);
    all.bind_this_thread(0);
    meter.stop();
    if (meter.reading().unavailable.contains("migrations")) {
      GTEST_SKIP() << meter.reading().unavailable.at("migrations");
    }
    EXPECT_EQ(meter.reading().counters.at("migrations").count(), 2);
  });
}

TEST(counter, is_scaled_by_the_share_of_the_time_it_ran) {
  const counter quarter{.counted = 100, .enabled_ns = 1000, .running_ns = 250};
  EXPECT_EQ(quarter.running_share(), 0.25);
  EXPECT_EQ(quarter.count(), 400);
}

TEST(usage, is_summed_over_threads) {
  usage first;
  first.counters["cycles"] = {.counted = 100, .enabled_ns = 10, .running_ns = 10};
  first.minor_faults = 1;
  first.major_faults = 2;
  first.voluntary_switches = 3;
  first.involuntary_switches = 4;
  first.waited_ns = 5;
  usage second = first;
  second.counters["cycles"] = {.counted = 50, .enabled_ns = 10, .running_ns = 5};
  usage total = first;
  total.merge(second);
  EXPECT_EQ(total.minor_faults, 2);
  EXPECT_EQ(total.major_faults, 4);
  EXPECT_EQ(total.voluntary_switches, 6);
  EXPECT_EQ(total.involuntary_switches, 8);
  EXPECT_EQ(total.waited_ns, 10);
  EXPECT_EQ(total.counters.at("cycles").counted, 150);
  EXPECT_EQ(total.counters.at("cycles").running_share(), 0.75);
}

TEST(usage, lacks_a_counter_that_any_thread_lacks) {
  usage counted;
  counted.counters["cycles"] = {.counted = 1, .enabled_ns = 1, .running_ns = 1};
  counted.waited_ns = 1;
  usage lacking;
  lacking.unavailable["cycles"] = "no";
  for (auto [total, other] : {std::pair(counted, lacking), std::pair(lacking, counted)}) {
    total.merge(other);
    EXPECT_THAT(total.counters, Not(Contains(Key("cycles"))));
    EXPECT_EQ(total.unavailable.at("cycles"), "no");
    EXPECT_EQ(total.waited_ns, std::nullopt);
  }
}

TEST(resident_bytes, follow_the_memory_in_use_and_the_peak_stays) {
  constexpr std::size_t pages = 4096;
  const std::uint64_t before = resident_bytes();
  std::uint64_t with = 0;
  {
    untouched_pages buffer(pages);
    buffer.touch();
    with = resident_bytes();
  }
  // The kernel counts in batches, per thread.
  constexpr std::uint64_t most = pages * untouched_pages::page * 9 / 10;
  EXPECT_GE(with, before + most);
  EXPECT_LE(resident_bytes(), with - most);
  EXPECT_GE(peak_resident_bytes(), with - pages * untouched_pages::page / 10);
}

}  // namespace
}  // namespace assay::host
