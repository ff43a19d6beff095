#include "assay/governor/governor_process.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "assay/governor/adaptive_governor.h"
#include "assay/governor/governor.h"
#include "assay/governor/real_platform.h"
#include "assay/governor/training.h"
#include "assay/host/environment.h"
#include "assay/input/bad_request.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"
#include "assay/input/message.h"

namespace assay::energy {
namespace {

using input::json_node;
using nlohmann::json;

constexpr std::size_t remembered = 16;   // decisions of each domain
constexpr double between_writes = 0.25;  // seconds, of the file of the state
constexpr std::uint64_t most_khz = 100'000'000;

// A file that can be read once one of the signals that end the process has come.
int file_of_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before any other thread is made, which inherit it
  return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool can_be_read(int file) {
  pollfd end{.fd = file, .events = POLLIN, .revents = 0};
  return poll(&end, 1, 0) > 0;
}

const char* name_of(load which) { return which == load::compute ? "compute" : "memory"; }

json answer_of(const training& of) {
  json measured = json::array();
  for (const trained& one : of.measured) {
    measured.push_back({{"load", name_of(one.which)},
                        {"processors", one.processors},
                        {"frequency_khz", one.frequency},
                        {"watts", one.watts},
                        {"instructions_per_second", one.instructions_per_second},
                        {"cache_misses_per_second", one.cache_misses_per_second}});
  }
  return {{"protocol", 1}, {"machine", of.machine}, {"measured", measured}};
}

training parse_training(const json_node& from) {
  from.require_keys({"machine", "measured"});
  training found{.machine = from.at("machine").text(), .measured = {}};
  const json_node measured = from.at("measured");
  for (std::size_t i = 0; i < measured.length_of_list(); ++i) {
    const json_node one = measured.at(i);
    one.require_keys({"load", "processors", "frequency_khz", "watts", "instructions_per_second",
                      "cache_misses_per_second"});
    found.measured.push_back(
        {.which =
             one.at("load").one_of<load>({{"compute", load::compute}, {"memory", load::memory}}),
         .processors = static_cast<unsigned>(one.at("processors").whole_number(1, 4096)),
         .frequency = static_cast<kilohertz>(one.at("frequency_khz").whole_number(1, most_khz)),
         .watts = one.at("watts").number(1e-9, 1e9),
         .instructions_per_second = one.at("instructions_per_second").number(1, 1e18),
         .cache_misses_per_second = one.at("cache_misses_per_second").number(0, 1e18)});
  }
  return found;
}

// Keeps what a training of this machine measured at frequencies that may be used now. Throws
// platform_error.
training usable(training of, const real_platform& machine) {
  if (of.machine != machine.machine()) {
    throw platform_error("the training is of another machine, " + of.machine + "; this is " +
                         machine.machine() + ": train here");
  }
  for (const trained& one : of.measured) {
    for (const policy& each : machine.policies()) {
      if (!std::ranges::binary_search(each.frequencies, one.frequency)) {
        throw platform_error("the training has " + std::to_string(one.frequency) + " kHz, which " +
                             each.place + " does not take; train again");
      }
    }
  }
  const std::vector<kilohertz>& frequencies = machine.domains().front().frequencies;
  std::erase_if(of.measured, [&](const trained& one) {
    return !std::ranges::binary_search(frequencies, one.frequency);
  });
  for (const load which : {load::compute, load::memory}) {
    if (std::ranges::none_of(of.measured, [&](const trained& one) {
          return one.which == which && one.processors == 1;
        })) {
      throw platform_error(std::string("the training has no ") + name_of(which) +
                           " load on one processor at a frequency within the present limits; "
                           "raise scaling_max_freq, or train again");
    }
  }
  return of;
}

// What could be governed here. Each part is tried by itself, so that everything missing is
// reported.
json look(std::unique_ptr<kernel> of) {
  json lacking = json::object();
  json policies = json::array();
  std::string machine;
  std::vector<policy> found;
  try {
    found = find_policies(*of);
    machine = machine_of(*of, found);
  } catch (const platform_error& error) {
    lacking["frequencies"] = error.what();
  }
  for (const policy& one : found) {
    policies.push_back({{"place", one.place},
                        {"driver", one.driver},
                        {"governor", one.governor},
                        {"processors", one.processors},
                        {"frequencies_khz", one.frequencies},
                        {"least_khz", one.least},
                        {"most_khz", one.most}});
  }
  const unsigned any = found.empty() ? 0 : found.front().processors.front();
  try {
    (void)of->open_counters(any)->read();
  } catch (const std::system_error& error) {
    const bool forbidden = error.code().value() == EACCES || error.code().value() == EPERM;
    lacking["counters"] = "processor " + std::to_string(any) +
                          (forbidden ? ": counting all programs needs root or CAP_PERFMON"
                                     : " counts neither instructions nor cache misses (in a "
                                       "virtual machine its host has to offer a PMU): ") +
                          (forbidden ? "" : error.code().message());
  }
  if (const joule_counter joules(*of); !joules.lacking().empty()) {
    lacking["energy"] = joules.lacking();
  }
  return {{"protocol", 1}, {"machine", machine}, {"policies", policies}, {"lacking", lacking}};
}

// A training that a signal ends leaves nothing that could be taken for a whole one.
class trained_platform final : public real_platform {
 public:
  trained_platform(std::unique_ptr<kernel> of, const real_options& options, int ended)
      : real_platform(std::move(of), options), ended_(ended) {}

  void wait(double seconds) override {
    real_platform::wait(seconds);
    if (can_be_read(ended_)) throw platform_error("the training was ended by a signal");
  }

 private:
  int ended_;
};

json train_here(std::unique_ptr<kernel> of, const json_node& request, int ended) {
  request.require_keys({"protocol", "action", "seconds", "processors", "converged_within"},
                       {"load_bytes"});
  training_options options{.seconds = request.at("seconds").number(0.001, 3600),
                           .processors = {},
                           .converged_within = request.at("converged_within").number(0, 1)};
  const json_node processors = request.at("processors");
  for (std::size_t i = 0; i < processors.length_of_list(); ++i) {
    options.processors.push_back(static_cast<unsigned>(processors.at(i).whole_number(1, 4096)));
  }
  real_options real;
  if (request.has("load_bytes")) {
    real.load_bytes = request.at("load_bytes").whole_number(4096, std::uint64_t{1} << 40);
  }
  trained_platform machine(std::move(of), real, ended);
  if (!machine.joules().lacking().empty()) {
    throw platform_error("a training needs a counter of energy: " + machine.joules().lacking());
  }
  const auto tell_notes = [&] {
    for (const std::string& note : machine.take_notes())
      std::cerr << "note: " << input::message(note) << '\n';
  };
  training found;
  try {
    found = train(machine, options);
  } catch (const platform_error&) {
    tell_notes();  // such as why there is no energy any more
    throw;
  }
  tell_notes();
  for (const trained& one : found.measured) {
    if (one.watts > 0 && one.instructions_per_second > 0) continue;
    throw platform_error(std::string("the training cannot be used: at ") +
                         std::to_string(one.frequency) + " kHz a load of " + name_of(one.which) +
                         (one.watts > 0 ? " counted no instructions" : " took no energy") +
                         "; train for longer, or see whether that counter works");
  }
  return answer_of(found);
}

// A governor whose last decisions are remembered, with what was seen before each.
class remembering final : public governor {
 public:
  remembering(const training& trained, const adaptive_options& options)
      : inner_(trained, options) {}

  decision first() override { return remember(inner_.first(), nullptr); }
  decision next(const interval& last) override { return remember(inner_.next(last), &last); }

  [[nodiscard]] const std::deque<json>& decisions() const { return decisions_; }
  [[nodiscard]] unsigned long long count() const { return count_; }

 private:
  decision remember(decision made, const interval* seen) {
    ++count_;
    if (!decisions_.empty() && decisions_.back()["why"] == made.why &&
        decisions_.back()["frequency_khz"] == made.frequency) {
      decisions_.back()["times"] = decisions_.back()["times"].get<unsigned>() + 1;
    } else {
      decisions_.push_back({{"frequency_khz", made.frequency}, {"why", made.why}, {"times", 1}});
      if (decisions_.size() > remembered) decisions_.pop_front();
    }
    if (seen != nullptr) {
      decisions_.back()["seen"] = {{"frequency_khz", seen->frequency},
                                   {"instructions_per_second", seen->instructions_per_second},
                                   {"cache_misses_per_second", seen->cache_misses_per_second},
                                   {"active_processors", seen->active_processors},
                                   {"active_in_machine", seen->active_in_machine}};
    }
    return made;
  }

  adaptive_governor inner_;
  std::deque<json> decisions_;
  unsigned long long count_ = 0;
};

// Written whole, in place of what was there.
void write_state(const std::string& file, const json& state) {
  const std::string part = file + ".part";
  errno = 0;
  std::ofstream stream(part, std::ios::trunc);
  stream << state.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  stream.close();
  std::error_code error;
  if (!stream) {
    error = {errno == 0 ? EIO : errno, std::generic_category()};
  } else {
    std::filesystem::rename(part, file, error);
  }
  if (error) {
    throw platform_error("the state cannot be written to " + file + ": " + error.message() +
                         "; make room or a folder there, or name another file with "
                         "ASSAY_GOVERNOR_STATE");
  }
}

// All improvements of section 3.4 but those that the request is without.
adaptive_options options_of(const json_node& request) {
  using improvement = bool adaptive_options::*;
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): as one_of() takes them
  constexpr std::pair<const char*, improvement> improvements[] = {
      {"parallelism", &adaptive_options::for_parallelism},
      {"cheaper-experiments", &adaptive_options::cheaper_experiments},
      {"precision", &adaptive_options::precise},
      {"overlap", &adaptive_options::overlap}};
  adaptive_options options = improved(request.at("exponent").number(0, 100));
  const json_node without = request.at("without");
  for (std::size_t i = 0; i < without.length_of_list(); ++i) {
    options.*(without.at(i).one_of(improvements)) = false;
  }
  return options;
}

json run_here(std::unique_ptr<kernel> of, const json_node& request, int ended) {
  request.require_keys({"protocol", "action", "training", "exponent", "without", "state"});
  const adaptive_options options = options_of(request);
  const std::string file = request.at("state").text();
  kernel& time = *of;
  real_platform machine(std::move(of), {.exact = false});
  const training trained = usable(parse_training(request.at("training")), machine);
  std::deque<remembering> governors;
  std::vector<governor*> all;
  for (std::size_t i = 0; i < machine.domains().size(); ++i) {
    all.push_back(&governors.emplace_back(trained, options));
  }
  json state{{"version", 1},
             {"process", getpid()},
             {"since", std::time(nullptr)},
             {"exponent", options.exponent},
             {"machine", machine.machine()},
             {"notes", json::array()}};
  if (!machine.joules().lacking().empty()) {
    state["notes"].push_back("without energy counters: the training alone says what power costs");
  }
  double written = -1;
  const double began = time.now();
  const auto over = [&] {
    for (const std::string& note : machine.take_notes()) {
      std::cerr << "note: " << input::message(note) << '\n';
      state["notes"].push_back(note);
      if (state["notes"].size() > remembered) state["notes"].erase(0);
    }
    if (const double now = time.now(); written < 0 || now - written >= between_writes) {
      written = now;
      json domains = json::array();
      for (std::size_t i = 0; i < governors.size(); ++i) {
        domains.push_back({{"policy", machine.policies()[i].place},
                           {"processors", machine.domains()[i].processors},
                           {"decisions", governors[i].decisions()}});
      }
      state["domains"] = domains;
      state["written"] = std::time(nullptr);
      write_state(file, state);
    }
    return can_be_read(ended);
  };
  govern(machine, all, over);
  unsigned long long decisions = 0;
  for (const remembering& one : governors) decisions += one.count();
  return {{"protocol", 1}, {"decisions", decisions}, {"seconds", time.now() - began}};
}

}  // namespace

int govern_main(int argc, char** argv, const kernel_maker& make_kernel) {
  CLI::App app(
      "Sets the processors' frequencies for assay-governor, which notes first what was there, and "
      "puts it back.\nReads a request as JSON on standard input, for example\n"
      R"(  {"protocol": 1, "action": "look"})"
      "\nand prints an answer as JSON.");
  app.set_version_flag("--version", host::version_of("assay-govern"));
  std::string root = "/";
  app.add_option("--root", root, "A folder that has another /sys and /proc");
  return input::run(app, argc, argv, [&] {
    const int ended = file_of_signals();
    const json object = input::parse_object(input::standard_input());
    const json_node request(object, "");
    request.at("protocol").require(1);
    std::unique_ptr<kernel> of = make_kernel(root, ended);
    const std::string& action = request.at("action").text();
    if (action == "look") {
      request.require_keys({"protocol", "action"});
      input::print(look(std::move(of)));
    } else if (action == "train") {
      input::print(train_here(std::move(of), request, ended));
    } else if (action == "run") {
      input::print(run_here(std::move(of), request, ended));
    } else {
      request.at("action").refuse("must be look, train or run");
    }
  });
}

}  // namespace assay::energy
