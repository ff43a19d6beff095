#include "assay/openmp/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::omp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr unsigned processors = 6;

settings settings_of(const std::vector<std::string>& variables) {
  const environment_reading reading = read_environment(variables, processors);
  EXPECT_THAT(reading.complaints, IsEmpty());
  return reading.set;
}

// Of one variable that is wrong: what is said about it, whereas all settings stay as they were.
std::string complaint_about(const std::string& variable) {
  const environment_reading reading = read_environment(std::vector{variable}, processors);
  EXPECT_EQ(describe(reading.set, true), describe(settings_of({}), true)) << variable;
  if (reading.complaints.size() != 1)
    return "complaints: " + std::to_string(reading.complaints.size());
  return reading.complaints.front();
}

TEST(environment, that_says_nothing_leaves_what_gcc_s_runtime_begins_with) {
  const settings set = settings_of({"PATH=/bin", "OMP", "=", ""});
  EXPECT_EQ(set.processors, processors);
  EXPECT_THAT(set.num_threads, IsEmpty());
  EXPECT_EQ(set.max_active_levels, 1U);
  EXPECT_EQ(set.thread_limit, ~0U);
  EXPECT_EQ(set.run_schedule.kind, schedule_kind::dynamic);
  EXPECT_EQ(set.places.kind, place_kind::none);
}

TEST(environment, takes_spaces_and_both_cases) {
  const settings set = settings_of({"OMP_NUM_THREADS= 4 ,\t2 ", "OMP_DYNAMIC= True",
                                    "OMP_WAIT_POLICY=ACTIVE ", "OMP_SCHEDULE= Guided , 7 "});
  EXPECT_THAT(set.num_threads, ElementsAre(4, 2));
  EXPECT_TRUE(set.dynamic);
  EXPECT_EQ(set.waiting, wait_policy::active);
  EXPECT_EQ(set.run_schedule.kind, schedule_kind::guided);
  EXPECT_EQ(set.run_schedule.chunk, 7);
}

TEST(environment, schedules_have_modifiers_and_sizes) {
  EXPECT_TRUE(settings_of({"OMP_SCHEDULE=static"}).run_schedule.monotonic);
  EXPECT_EQ(settings_of({"OMP_SCHEDULE=static"}).run_schedule.chunk, 0);
  EXPECT_FALSE(settings_of({"OMP_SCHEDULE=nonmonotonic:static"}).run_schedule.monotonic);
  EXPECT_FALSE(settings_of({"OMP_SCHEDULE=dynamic"}).run_schedule.monotonic);
  EXPECT_TRUE(settings_of({"OMP_SCHEDULE=monotonic:dynamic,3"}).run_schedule.monotonic);
}

TEST(environment, levels_follow_from_lists_unless_they_are_given) {
  EXPECT_EQ(settings_of({"OMP_NUM_THREADS=4,2"}).max_active_levels, supported_active_levels);
  EXPECT_EQ(settings_of({"OMP_PROC_BIND=close,spread"}).max_active_levels, supported_active_levels);
  EXPECT_EQ(settings_of({"OMP_NUM_THREADS=4,2", "OMP_MAX_ACTIVE_LEVELS=1"}).max_active_levels, 1U);
  EXPECT_EQ(settings_of({"OMP_NESTED=true"}).max_active_levels, supported_active_levels);
  EXPECT_EQ(settings_of({"OMP_NESTED=true", "OMP_MAX_ACTIVE_LEVELS=3"}).max_active_levels, 3U);
}

TEST(environment, stacks_have_units_and_the_standard_s_name_comes_first) {
  EXPECT_EQ(settings_of({"OMP_STACKSIZE=20"}).stack_bytes, 20U << 10U);
  EXPECT_EQ(settings_of({"OMP_STACKSIZE=20 m"}).stack_bytes, 20U << 20U);
  EXPECT_EQ(settings_of({"OMP_STACKSIZE=30000B"}).stack_bytes, 30000U);
  EXPECT_EQ(settings_of({"OMP_STACKSIZE=1M", "GOMP_STACKSIZE=2M"}).stack_bytes, 1U << 20U);
}

TEST(environment, places_and_binding_follow_from_each_other) {
  EXPECT_THAT(settings_of({"OMP_PLACES=cores(2)"}).proc_bind, ElementsAre(binding::yes));
  EXPECT_EQ(settings_of({"OMP_PLACES=cores(2)"}).places.count, 2U);
  EXPECT_EQ(settings_of({"OMP_PROC_BIND=spread"}).places.kind, place_kind::threads);
  EXPECT_EQ(settings_of({"OMP_PROC_BIND=false", "OMP_PLACES=cores"}).places.kind, place_kind::none);
  EXPECT_THAT(settings_of({"OMP_PROC_BIND=master,primary,close"}).proc_bind,
              ElementsAre(binding::primary, binding::primary, binding::close));
}

TEST(environment, places_are_written_down_by_intervals) {
  const auto listed = [](const std::string& text) {
    return settings_of({"OMP_PLACES=" + text}).places.listed;
  };
  EXPECT_THAT(listed("{0,1},{4}"), ElementsAre(ElementsAre(0, 1), ElementsAre(4)));
  EXPECT_THAT(listed("{0:3}"), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(listed("{8:3:-2}"), ElementsAre(ElementsAre(8, 6, 4)));
  EXPECT_THAT(listed("{0:4,!2}"), ElementsAre(ElementsAre(0, 1, 3)));
  EXPECT_THAT(listed("{0:2}:3"),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
  EXPECT_THAT(listed("{0}:3:4"), ElementsAre(ElementsAre(0), ElementsAre(4), ElementsAre(8)));
  EXPECT_THAT(listed("{2}:3:-1"), ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(listed("{0}:3,!{1}"), ElementsAre(ElementsAre(0), ElementsAre(2)));
  EXPECT_THAT(
      settings_of({"GOMP_CPU_AFFINITY=3 0-4:2,9"}).places.listed,
      ElementsAre(ElementsAre(3), ElementsAre(0), ElementsAre(2), ElementsAre(4), ElementsAre(9)));
}

TEST(environment, wrong_words_are_answered_with_the_nearest) {
  EXPECT_EQ(complaint_about("OMP_WAIT_POLICY=pasive"),
            "OMP_WAIT_POLICY=pasive is ignored: did you mean passive?");
  EXPECT_THAT(complaint_about("OMP_SCHEDULE=dynamc,4"), HasSubstr("did you mean dynamic?"));
  EXPECT_THAT(complaint_about("OMP_SCHEDULE=monoton:static"), HasSubstr("did you mean monotonic?"));
  EXPECT_THAT(complaint_about("OMP_PROC_BIND=spred"), HasSubstr("did you mean spread?"));
  EXPECT_THAT(complaint_about("OMP_PLACES=socket"), HasSubstr("did you mean sockets?"));
  EXPECT_THAT(complaint_about("OMP_DYNAMIC=ture"), HasSubstr("did you mean true?"));
  EXPECT_THAT(complaint_about("OMP_ALLOCATOR=omp_const_mem"), HasSubstr("omp_const_mem_alloc?"));
  EXPECT_THAT(complaint_about("ASSAY_OMP_CRITICAL=elided"), HasSubstr("did you mean elision?"));
  EXPECT_THAT(complaint_about("OMP_NUM_THREDS=4"),
              HasSubstr("OMP_NUM_THREDS is not known: did you mean OMP_NUM_THREADS?"));
}

TEST(environment, more_threads_than_are_allowed_are_named) {
  const std::vector<std::string> both{"OMP_NUM_THREADS=9", "OMP_THREAD_LIMIT=2"};
  EXPECT_THAT(
      read_environment(both, 4).complaints,
      ElementsAre("OMP_NUM_THREADS asks for 9 threads, and OMP_THREAD_LIMIT allows 2: teams "
                  "have no more"));
  EXPECT_THAT(complaint_about("ASSAY_OMP_WAIT_AT=my_program"), HasSubstr("my_program+0x12ab"));
}

TEST(environment, wrong_values_are_answered_with_what_is_right) {
  for (const char* const wrong : {"OMP_NUM_THREADS=0",
                                  "OMP_NUM_THREADS=",
                                  "OMP_NUM_THREADS=4,",
                                  "OMP_NUM_THREADS=4 2",
                                  "OMP_NUM_THREADS=-3",
                                  "OMP_NUM_THREADS=99999999999999999999",
                                  "OMP_THREAD_LIMIT=0",
                                  "OMP_SCHEDULE=dynamic,0",
                                  "OMP_SCHEDULE=dynamic,4x",
                                  "OMP_STACKSIZE=0",
                                  "OMP_STACKSIZE=4T",
                                  "OMP_STACKSIZE=20000000000G",
                                  "OMP_PROC_BIND=true,close",
                                  "OMP_PROC_BIND=close,",
                                  "OMP_PLACES=",
                                  "OMP_PLACES={}",
                                  "OMP_PLACES={0",
                                  "OMP_PLACES={0},",
                                  "OMP_PLACES={0:0}",
                                  "OMP_PLACES={1:3:-1}",
                                  "OMP_PLACES={0}:99999",
                                  "OMP_PLACES={0:60000}:60000",
                                  "OMP_PLACES=cores(0)",
                                  "OMP_PLACES=cores(",
                                  "OMP_PLACES={0},!{0}",
                                  "GOMP_CPU_AFFINITY=",
                                  "GOMP_CPU_AFFINITY=4-2",
                                  "OMP_MAX_ACTIVE_LEVELS=-1",
                                  "OMP_DEFAULT_DEVICE=gpu",
                                  "GOMP_SPINCOUNT=soon"}) {
    EXPECT_THAT(complaint_about(wrong), HasSubstr(std::string(wrong) + " is ignored: ")) << wrong;
  }
}

TEST(environment, what_is_not_near_to_a_variable_is_nobody_s_business) {
  EXPECT_THAT(read_environment(std::vector<std::string>{"OMP_MY_OWN_THING=1", "COMP_NUM_THREADS=1"},
                               processors)
                  .complaints,
              IsEmpty());
}

TEST(environment, is_described_as_the_standard_has_it) {
  const std::string text =
      describe(settings_of({"OMP_SCHEDULE=monotonic:guided,5", "OMP_PLACES={0,2},{1}",
                            "OMP_PROC_BIND=close,spread", "OMP_TARGET_OFFLOAD=disabled"}),
               false);
  EXPECT_THAT(text, HasSubstr("OPENMP DISPLAY ENVIRONMENT BEGIN\n"));
  EXPECT_THAT(text, HasSubstr("  OMP_NUM_THREADS = '6'\n"));
  EXPECT_THAT(text, HasSubstr("  OMP_SCHEDULE = 'MONOTONIC:GUIDED,5'\n"));
  EXPECT_THAT(text, HasSubstr("  OMP_PLACES = '{0,2},{1}'\n"));
  EXPECT_THAT(text, HasSubstr("  OMP_PROC_BIND = 'CLOSE,SPREAD'\n"));
  EXPECT_THAT(text, HasSubstr("  OMP_TARGET_OFFLOAD = 'DISABLED'\n"));
  EXPECT_THAT(text, HasSubstr("OPENMP DISPLAY ENVIRONMENT END\n"));
}

}  // namespace
}  // namespace assay::omp
