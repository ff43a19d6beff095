// Each flawed map is caught by the rig, by the check that is meant to catch it, which says by which
// operation.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/rig/linearizability.h"
#include "assay/rig/memory.h"
#include "assay/rig/model.h"
#include "assay/rig/owners.h"
#include "assay/rig/progress.h"
#include "assay/rig/randomness.h"
#include "assay/rig/stress.h"
#include "assay/subject/subject.h"
#include "assay/trial/request.h"
#include "assay/trial/run.h"

namespace assay::rig {
namespace {

using subject::find_subject;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

enum class check : std::uint8_t {
  model,
  linearizability,  // a history that no order explains
  hang,             // a history that does not end
  crash,            // the end of the process
  exception,
  strings,  // what a trial with strings validates: the rig asks for numbers
  memory,
  owners,
  randomness,  // stress with very high randomness
  stress,
  progress,
};
constexpr std::array check_names{"model",      "linearizability", "hang",    "crash",
                                 "exception",  "strings",         "memory",  "owners",
                                 "randomness", "stress",          "progress"};

struct flaw {
  std::string map;
  check caught_by;
  std::string reported_as;        // a pattern of what is printed
  std::uint64_t histories = 250;  // of one seed; more if a flaw shows late in the life of a map
};
std::ostream& operator<<(std::ostream& out, const flaw& one) { return out << one.map; }

// Where other operations met the wrong one, the answer that no order explains may be one of theirs:
// an erasure just before a search explains that nothing was found, and is then itself one too many.
// The smallest history has the wrong operation in any case.
const std::vector<flaw> flaws{
    {"both_insert", check::model, "insert\\([^\n]*but std::map: false"},
    {"both_insert", check::linearizability, "answer of (insert|erase|find|walk)"},
    {"clone_misses_key", check::model, "clone"},
    {"clone_misses_key", check::linearizability, "snapshot"},
    {"compensating_errors", check::model, "insert\\(.*but std::map: "},
    {"compensating_errors", check::linearizability, "answer of (insert|erase|find|walk)"},
    {"crashes", check::crash, "the recorder ended after [0-9]+ of [0-9]+ histories"},
    {"deadlocks", check::hang, "had not returned, and may have"},
    {"endless_walk", check::model, "a walk"},
    {"endless_walk", check::linearizability, "answer of walk at rest"},
    {"find_many_without_last", check::model, "find_many"},
    {"finds_erased", check::model, "find"},
    {"finds_erased", check::linearizability, "find\\(.*No order of these"},
    {"forgets_erases", check::model, "erase\\(.*but std::map: "},
    {"forgets_erases", check::linearizability, "answer of (insert|erase|find|walk)"},
    {"hides_empty_string", check::owners, "find\\(0\\).*nothing"},
    {"hides_greatest_value", check::linearizability, "find\\("},
    {"hides_greatest_value", check::owners, "find\\(.*nothing(.|\n)*exclusive or"},
    {"hides_least", check::linearizability, "find\\("},
    {"hides_least", check::owners, "find\\(0\\).*nothing"},
    {"inserts_twice", check::model, "insert\\(.*a walk .*but std::map: "},
    {"inserts_twice", check::linearizability, "answer of (insert|erase|find|walk)"},
    {"iteration_repeats", check::owners, "iterate\\(.*which it met twice"},
    {"iteration_skips", check::owners, "iterate\\(.*(left out|nothing under) key"},
    {"keeps_greatest", check::memory, "bytes"},
    {"leaks", check::hang, "insert\\([0-9]+, [0-9]+\\) had not returned"},
    {"loses_last_bucket", check::model, "a walk .*but std::map: "},
    {"loses_last_bucket", check::owners, "key [0-9]+ was held"},
    {"loses_inserts", check::model, "insert\\(.*but std::map: "},
    {"loses_inserts", check::linearizability, "answer of (insert|erase|find|walk)"},
    {"loses_value_zero", check::linearizability, "answer of (insert|erase|find|walk)"},
    {"loses_value_zero", check::stress, "8 keys, called 1 to 8.* keys, expected"},
    {"misses_as_it_first_grows", check::owners, "find\\(.*nothing"},
    {"misses_while_it_grows", check::owners, "find\\(.*nothing"},
    {"natarajan_leaks", check::memory, "bytes"},
    {"natarajan_lost_update", check::linearizability, "(insert|erase)"},
    {"never_fills", check::model, "insert"},
    {"never_fills", check::linearizability, "insert\\(.*No order of these"},
    {"never_finds", check::model, "find"},
    {"never_finds", check::linearizability, "find\\(.*nothing.*No order of these"},
    {"range_in_pieces", check::owners, "range\\(.*answered what the map held at no one moment"},
    {"range_misses_key", check::model, "range\\("},
    {"range_out_of_order", check::model, "range\\("},
    {"range_out_of_order", check::owners, "range\\(.*but a range ascends"},
    {"range_without_last", check::model, "range\\("},
    {"range_without_last", check::linearizability, "range\\("},
    {"refuses_one_in_a_million", check::owners, "insert\\(.*answered false, but key"},
    {"reuses_places", check::randomness, "searches returned a value other than the key's"},
    {"size_off_by_one", check::model, "size"},
    {"size_off_by_one", check::linearizability, "size"},
    {"snapshot_visits_twice", check::model, "snapshot"},
    {"snapshot_visits_twice", check::linearizability, "snapshot"},
    {"stale_cache", check::owners, "find\\(.*at no moment"},
    {"stale_late_write", check::owners, "key"},
    {"stale_revived", check::owners, "key"},
    {"swaps_values", check::model, "insert\\(.*but std::map: "},
    {"swaps_values", check::linearizability, "answer of (find|walk)"},
    {"throws", check::exception, "insert\\(.*threw an exception: insert failed on purpose"},
    {"torn_emplace", check::linearizability, "insert"},
    {"torn_emplace_and_visit", check::linearizability, "insert|find"},
    {"torn_empty", check::linearizability, "empty", 1000},
    {"torn_erase_if", check::linearizability, "extract|find"},
    {"torn_erase_range", check::linearizability, "erase_range"},
    {"torn_exchange", check::linearizability, "update|insert"},
    {"torn_extract", check::linearizability, "extract"},
    {"torn_floor", check::linearizability, "range", 1000},
    {"torn_get_or_emplace", check::linearizability, "insert|find"},
    {"torn_insert_or_assign", check::linearizability, "insert_or_assign"},
    {"torn_lower_bound", check::linearizability, "range", 1000},
    {"torn_predecessor", check::linearizability, "range", 1000},
    {"torn_try_emplace", check::linearizability, "insert"},
    {"torn_update", check::linearizability, "update"},
    {"torn_upper_bound", check::linearizability, "range", 1000},
    {"torn_upsert", check::linearizability, "update|insert"},
    {"torn_visit_all", check::owners, "visit_all\\("},
    {"torn_visit_all_descending", check::owners,
     "visit_all_descending\\(.*(left out|nothing under) key"},
    {"torn_visit_range", check::owners, "visit_range\\("},
    {"torn_visit_range_descending", check::owners,
     "visit_range_descending\\(.*(left out|nothing under) key"},
    {"truncates_values", check::strings, "differ|value other than the key's"},
    {"unchecked_greatest", check::linearizability, "insert\\(18446744073709551615"},
    {"unchecked_greatest", check::progress, "key 18446744073709551615"},
    {"unchecked_greatest", check::stress, "8 keys, called 1 to 8.* keys, expected"},
};

TEST(flawed_maps, are_each_caught_by_some_check) {
  for (const auto& subject : subject::registry()) {
    EXPECT_TRUE(
        std::ranges::any_of(flaws, [&](const flaw& one) { return one.map == subject.name; }))
        << subject.name << " is in this program, and nothing says which check catches it";
  }
}

// The wrong answers to one thread are all that these checks look for, so that another thread's are
// not among what they find.
TEST(flawed_maps, that_take_two_threads_answer_one_rightly) {
  for (const auto* name :
       {"natarajan_lost_update", "natarajan_leaks", "unchecked_greatest", "hides_least",
        "hides_greatest_value", "hides_empty_string", "loses_value_zero", "torn_exchange"}) {
    const modelling asked{.seed = 1, .operations = 20'000, .keys = 5000};
    EXPECT_EQ(check_model(find_subject(name), asked).problem, "");
  }
}

struct child_result {
  int status;  // as of waitpid
  std::string printed;

  [[nodiscard]] bool exited_with(int code) const {
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
  }
};

// Runs `act` in a child process, which ends with what it returns, and gathers what the child and
// its own children print. This process has no other thread.
child_result in_child(const std::function<int()>& act) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::signal(SIGSEGV, SIG_DFL);  // NOLINT(cert-err33-c): not the handler of a sanitizer
    const int code = act();
    std::fflush(nullptr);
    std::_Exit(code);
  }
  close(ends[1]);
  child_result seen{.status = -1, .printed = {}};
  std::array<char, 4096> some{};
  for (ssize_t n = 0; (n = read(ends[0], some.data(), some.size())) > 0;) {
    seen.printed.append(some.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  waitpid(child, &seen.status, 0);
  return seen;
}

// How a few histories of a map come out. Most maps are caught by the first few; where threads have
// to meet, or a flaw shows now and then, there are more seeds.
child_result judged(const flaw& one, std::chrono::milliseconds patience) {
  constexpr std::uint64_t most_seeds = 60;
  child_result seen{};
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    seen = in_child([&] {
      recorded counts;
      try {
        return static_cast<int>(check_linearizability(
            find_subject(one.map), {.seed = seed, .histories = one.histories, .patience = patience},
            counts));
      } catch (const operation_failed& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 4;
      }
    });
    if (!seen.exited_with(static_cast<int>(judgement::linearizable))) break;
  }
  return seen;
}

constexpr int did_not_end = 3;
constexpr std::chrono::seconds enough_for_any{5};  // more only makes the test last longer

class flawed_map : public ::testing::TestWithParam<flaw> {
 protected:
  const std::string& name = GetParam().map;

  void expect_caught() const {
    switch (GetParam().caught_by) {
      case check::model:
        return expect_difference_from_model();
      case check::linearizability: {
        const child_result seen = judged(GetParam(), enough_for_any);
        EXPECT_TRUE(seen.exited_with(static_cast<int>(judgement::not_linearizable)) ||
                    seen.exited_with(did_not_end))
            << seen.printed;
        return expect_report(seen.printed);
      }
      case check::hang: {
        // It would not end in any time.
        const child_result seen = judged(GetParam(), std::chrono::milliseconds(500));
        EXPECT_TRUE(seen.exited_with(did_not_end)) << seen.printed;
        EXPECT_THAT(seen.printed, AllOf(HasSubstr("did not end"), HasSubstr("is inside")));
        return expect_report(seen.printed);
      }
      case check::crash: {
        const child_result seen = judged(GetParam(), enough_for_any);
        EXPECT_TRUE(WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == SIGSEGV) << seen.printed;
        return expect_report(seen.printed);
      }
      case check::exception: {
        const child_result seen = judged(GetParam(), enough_for_any);
        EXPECT_TRUE(seen.exited_with(4)) << seen.printed;
        EXPECT_THAT(seen.printed, HasSubstr("can be judged, and those are linearizable"));
        return expect_report(seen.printed);
      }
      case check::strings:
        return expect_trial_invalid();
      case check::memory:
        return expect_memory_kept();
      case check::owners:
        return expect_wrong_for_owners();
      case check::randomness:
        return expect_wrong_under_stress(5);
      case check::stress:
        return expect_wrong_under_stress(0);
      case check::progress:
        return expect_wrong_after_suspensions();
    }
  }

 private:
  void expect_report(const std::string& report) const {
    EXPECT_THAT(report, ContainsRegex(GetParam().reported_as));
  }

  // Most take far less than one of these 3 s each.
  void expect_wrong_for_owners() const {
    owned seen;
    for (std::uint64_t seed = 1; seen.problem.empty() && seed <= 20; ++seed) {
      seen = check_owners(find_subject(name), {.seed = seed});
    }
    expect_report(seen.problem);
  }

  // The first of these 0.8 s each is mostly enough.
  void expect_wrong_under_stress(double randomness) const {
    set_randomness(randomness);
    stressed seen;
    for (std::uint64_t seed = 1; seen.problems.empty() && seed <= 100; ++seed) {
      seen = stress(find_subject(name), {.seed = seed, .duration = std::chrono::milliseconds(100)});
    }
    set_randomness(0);
    ASSERT_FALSE(seen.problems.empty());
    expect_report(seen.problems.front());
  }

  void expect_wrong_after_suspensions() const {
    std::string report;
    for (std::uint64_t seed = 1; report.empty() && seed <= 20; ++seed) {
      const progress_found found = check_progress(find_subject(name), seed);
      for (const std::string& line : found.lines) {
        if (!found.passed) report += line + '\n';
      }
    }
    expect_report(report);
  }

  // One leaks only if two threads meet, which they seldom do beside other work: half a second a
  // seed.
  void expect_memory_kept() const {
    std::string problem;
    for (std::uint64_t seed = 1; problem.empty() && seed <= 60; ++seed) {
      problem = memory_kept(find_subject(name), {.seed = seed}).problem;
    }
    expect_report(problem);
  }

  // Two flaws show only among thousands of keys.
  void expect_difference_from_model() const {
    const bool many = name == "range_misses_key" || name == "loses_last_bucket";
    constexpr std::chrono::milliseconds few{200};
    const modelling asked =
        many ? modelling{.seed = 1, .operations = 400'000, .keys = 20'000, .shrinking = few}
             : modelling{.seed = 1, .operations = 20'000, .keys = 60};
    expect_report(check_model(find_subject(name), asked).problem);
  }

  void expect_trial_invalid() const {
    const trial::request request{
        .subject = name,
        .seed = 1,
        .pinning = {},
        .key_range = 512,
        .keys = workload::key_layout::dense,
        .roles = trial::one_role(2, {40, 40, 20}),
        .duration = std::chrono::milliseconds(20),
        .interval = std::chrono::milliseconds(10),
        .value = {.type = subject::type_spec::kind::bytes, .least = 9, .most = 100}};
    const auto problems = trial::run(request, find_subject(name)).problems;
    EXPECT_THAT(problems, ::testing::Contains(ContainsRegex(GetParam().reported_as)));
  }
};

TEST_P(flawed_map, is_caught) { expect_caught(); }

INSTANTIATE_TEST_SUITE_P(by, flawed_map, ::testing::ValuesIn(flaws), [](const auto& one) {
  return one.param.map + "_by_" + check_names.at(static_cast<std::size_t>(one.param.caught_by));
});

// The key that is missing says little: what another thread did beside it, while it was lost, is the
// mistake.
TEST(what_is_printed_of_a_lost_update, shows_the_operations_that_met) {
  std::istringstream printed(
      judged({"natarajan_lost_update", check::linearizability, ""}, enough_for_any).printed);
  bool whole = false;
  bool met = false;
  for (std::string line; std::getline(printed, line);) {
    whole = whole || line == "What else happened in that history:" ||
            line.find("did not end:") != std::string::npos;
    const bool an_update_began =
        line.find("┌ insert(") != std::string::npos || line.find("┌ erase(") != std::string::npos;
    met = met || (whole && an_update_began && line.find("│") != std::string::npos);
  }
  EXPECT_TRUE(whole) << printed.str();
  EXPECT_TRUE(met) << printed.str();
}

}  // namespace
}  // namespace assay::rig
