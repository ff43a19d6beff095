// assay-governor-simulation: programs under governors of frequencies, on a machine that is
// computed. Nothing that it prints was measured.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/input/command_line.h"
#include "assay/random/splitmix64.h"
#include "evaluation/simulated_run.h"
#include "evaluation/simulated_workloads.h"

namespace {

namespace energy = assay::energy;
using nlohmann::json;

struct options {
  std::string machine = "xeon";
  std::string workload;
  std::string governor;
  double exponent = 1;
  std::uint64_t seed = 1;
  std::size_t seeds = 5;
  std::vector<std::string> governors;
  std::optional<std::uint64_t> drawn;
};

constexpr std::array exponents{0.0, 1.0, 2.0};
constexpr std::array improvement_names{"parallelism", "training", "experiments", "precision",
                                       "overlap"};

void list() {
  std::cout << "workloads:\n";
  for (const auto& one : energy::simulated_workloads()) {
    std::cout << "  " << one.name << " (" << one.suite << ", "
              << (one.phases.back().threads == 1 ? "one thread" : "a thread a processor") << ")\n";
  }
  std::cout << "governors:\n  performance powersave ondemand conservative schedutil static-MHZ "
               "oracle listing adaptive\n ";
  for (const auto* one : improvement_names) std::cout << " listing+" << one << " adaptive-" << one;
  std::cout << "\nmachines:\n  xeon snuc server\n";
}

void print_run(const options& asked) {
  const auto& workload = energy::simulated_workload_named(asked.workload);
  const energy::simulated_bench bench(energy::simulated_hardware_named(asked.machine), asked.seed);
  const auto cost = bench.run(workload, asked.governor, asked.exponent, asked.seed);
  std::cout.precision(12);
  std::cout << "computed_joules=" << cost.joules << "\ncomputed_seconds=" << cost.seconds
            << "\ncomputed_ed=" << cost.joules * cost.seconds
            << "\ncomputed_ed2=" << cost.joules * cost.seconds * cost.seconds << '\n';
}

bool weighs_exponent(const std::string& governor) {
  return governor == "oracle" || governor.starts_with("listing") ||
         governor.starts_with("adaptive");
}

std::vector<std::string> all_governors(const energy::simulated_hardware& hardware) {
  std::vector<std::string> all;
  for (const auto& step : hardware.steps) {
    all.push_back("static-" + std::to_string(step.frequency / 1000));
  }
  for (const auto* one : {"performance", "powersave", "ondemand", "conservative", "schedutil",
                          "oracle", "listing", "adaptive"}) {
    all.emplace_back(one);
  }
  for (const auto* one : improvement_names) {
    all.push_back(std::string("listing+") + one);
    all.push_back(std::string("adaptive-") + one);
  }
  return all;
}

// One machine a seed, each trained by itself.
std::vector<energy::simulated_bench> benches(const options& asked) {
  const auto hardware = energy::simulated_hardware_named(asked.machine);
  std::vector<energy::simulated_bench> made;
  for (std::size_t i = 0; i < asked.seeds; ++i) {
    made.emplace_back(hardware, assay::random::derive_seed(asked.seed, i));
  }
  return made;
}

json costs(const std::vector<energy::simulated_bench>& all, const options& asked,
           const energy::program& workload, const std::string& governor, double exponent,
           const energy::mistakes& made) {
  json joules = json::array();
  json seconds = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto cost = all[i].run(workload, governor, exponent,
                                 assay::random::derive_seed(asked.seed, 1000 + i), made);
    joules.push_back(cost.joules);
    seconds.push_back(cost.seconds);
  }
  return {{"workload", workload.name}, {"suite", workload.suite}, {"governor", governor},
          {"exponent", exponent},      {"joules", joules},        {"seconds", seconds}};
}

void evaluate(const options& asked) {
  const auto begun = std::chrono::steady_clock::now();
  const auto all = benches(asked);
  const auto governors =
      asked.governors.empty() ? all_governors(all.front().hardware()) : asked.governors;
  const auto workloads =
      asked.drawn ? energy::drawn_workloads(*asked.drawn) : energy::simulated_workloads();
  json results = json::array();
  for (const auto& workload : workloads) {
    for (const auto& governor : governors) {
      for (const double exponent : exponents) {
        if (exponent > 0 && !weighs_exponent(governor)) continue;
        results.push_back(costs(all, asked, workload, governor, exponent, {}));
      }
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::cout << json{{"simulated", true},
                    {"machine", asked.machine},
                    {"seed", asked.seed},
                    {"took_seconds", took.count()},
                    {"results", results}}
            << '\n';
}

void sensitivity(const options& asked) {
  const auto all = benches(asked);
  json results = json::array();
  for (const char* what : {"power", "memory_boundness", "overlap"}) {
    for (const double factor : {0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5}) {
      energy::mistakes made;
      (*what == 'p'   ? made.dynamic_power
       : *what == 'm' ? made.memory_boundness
                      : made.overlap) = factor;
      for (const auto& workload : energy::simulated_workloads()) {
        for (const double exponent : exponents) {
          json one = costs(all, asked, workload, "adaptive", exponent, made);
          one["mistaken"] = what;
          one["factor"] = factor;
          results.push_back(one);
        }
      }
    }
  }
  std::cout << json{{"simulated", true},
                    {"machine", asked.machine},
                    {"seed", asked.seed},
                    {"results", results}}
            << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  options asked;
  CLI::App app{
      "Run programs under governors of frequencies, on a machine that is computed. Nothing is "
      "measured."};
  app.require_subcommand(1);
  app.add_subcommand("list", "Say which workloads, governors and machines there are");
  auto* run = app.add_subcommand("run", "One run; print joules, seconds and their products");
  auto* whole = app.add_subcommand("evaluate", "All workloads under all governors; print JSON");
  auto* wrong = app.add_subcommand(
      "sensitivity", "All workloads with models that are wrong by a factor; print JSON");
  run->add_option("--workload", asked.workload)->required();
  run->add_option("--governor", asked.governor)->required();
  run->add_option("--exponent", asked.exponent, "N of energy * time^N")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  whole->add_option("--governors", asked.governors, "By default all")->delimiter(',');
  whole->add_option("--drawn", asked.drawn,
                    "Instead of the 54 workloads as many others, drawn by this seed");
  for (auto* one : {whole, wrong}) {
    one->add_option("--seeds", asked.seeds, "Runs of each")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
  }
  for (auto* one : {run, whole, wrong}) {
    one->add_option("--machine", asked.machine)->capture_default_str();
    one->add_option("--seed", asked.seed)->capture_default_str();
  }
  return assay::input::run(app, argc, argv, [&] {
    if (app.got_subcommand("list")) list();
    if (app.got_subcommand(run)) print_run(asked);
    if (app.got_subcommand(whole)) evaluate(asked);
    if (app.got_subcommand(wrong)) sensitivity(asked);
  });
}
