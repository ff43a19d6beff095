#include "evaluation/simulated_workloads.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "assay/random/splitmix64.h"

namespace assay::energy {
namespace {

constexpr unsigned all = 0;  // processors

// A phase by how long it takes, roughly: alone on its core, at 3 GHz.
struct shape {
  double seconds;
  double cycles;    // of an instruction
  double misses;    // of 1000 instructions
  double parallel;  // misses
  double overlap;
  double activity;
  double sleeping = 0;  // share of its time
  int threads = -1;     // as the program
};

program shaped(const char* suite, unsigned threads, const char* name, unsigned rounds,
               const std::vector<shape>& shapes) {
  program made{.name = name, .suite = suite, .phases = {}, .rounds = rounds};
  for (const shape& one : shapes) {
    const double on = one.cycles / 3;
    const double off = one.misses / 1000 * 60 / one.parallel;
    const double awake = on + off - one.overlap * std::min(on, off);
    const double sleep = awake * one.sleeping / (1 - one.sleeping);
    const unsigned used = one.threads < 0 ? threads : static_cast<unsigned>(one.threads);
    const double at_once = used == all ? 5 : used;
    made.phases.push_back({.instructions = one.seconds * at_once * 1e9 / (awake + sleep),
                           .threads = used,
                           .cycles = one.cycles,
                           .misses = one.misses / 1000,
                           .parallel_misses = one.parallel,
                           .overlap = one.overlap,
                           .activity = one.activity,
                           .sleep = sleep});
  }
  return made;
}

std::vector<program> make() {
  const auto spec = [](const char* name, unsigned rounds, const std::vector<shape>& shapes) {
    return shaped("SPEC2006", 1, name, rounds, shapes);
  };
  const auto parsec = [](const char* name, unsigned rounds, const std::vector<shape>& shapes) {
    return shaped("PARSEC 3.0", all, name, rounds, shapes);
  };
  const auto splash = [](const char* name, unsigned rounds, const std::vector<shape>& shapes) {
    return shaped("SPLASH-2x", all, name, rounds, shapes);
  };
  const auto npb = [](const char* name, unsigned rounds, const std::vector<shape>& shapes) {
    return shaped("NPB 3.3.1", all, name, rounds, shapes);
  };
  // seconds, cycles, misses, parallel, overlap, activity
  return {
      spec("400.perlbench", 3, {{20, 0.6, 0.3, 1.5, 0.2, 0.95}, {8, 0.7, 1.0, 1.5, 0.2, 0.9}}),
      spec("401.bzip2", 6, {{7, 0.8, 1.5, 1.5, 0.2, 0.9}, {7, 0.65, 0.4, 1.5, 0.2, 1.0}}),
      spec("403.gcc", 5,
           {{6, 0.9, 4, 2, 0.2, 0.85}, {5, 0.8, 1.5, 2, 0.2, 0.9}, {4, 1.0, 9, 2.5, 0.2, 0.8}}),
      spec("429.mcf", 3, {{20, 1.2, 32, 2.4, 0.3, 0.7}, {8, 1.1, 16, 2, 0.3, 0.75}}),
      spec("445.gobmk", 1, {{80, 0.95, 0.5, 1.3, 0.2, 0.9}}),
      spec("456.hmmer", 1, {{70, 0.45, 0.1, 2, 0.3, 1.15}}),
      spec("458.sjeng", 1, {{80, 0.8, 0.3, 1.2, 0.2, 0.9}}),
      spec("462.libquantum", 1, {{70, 0.6, 22, 6, 0.6, 0.9}}),
      spec("464.h264ref", 2, {{15, 0.5, 0.3, 2, 0.3, 1.1}, {25, 0.48, 0.6, 2, 0.3, 1.1}}),
      spec("471.omnetpp", 1, {{75, 1.1, 11, 2, 0.2, 0.75}}),
      spec("473.astar", 2, {{18, 1.1, 6, 1.6, 0.2, 0.8}, {22, 1.0, 2, 1.6, 0.2, 0.85}}),
      spec("483.xalancbmk", 2, {{10, 0.9, 1, 1.5, 0.2, 0.9}, {25, 0.8, 2.5, 1.6, 0.2, 0.85}}),
      spec("410.bwaves", 3, {{22, 0.7, 12, 5, 0.5, 1.05}, {5, 0.6, 4, 4, 0.5, 1.1}}),
      spec("416.gamess", 1, {{80, 0.45, 0.05, 1, 0.3, 1.15}}),
      spec("433.milc", 6, {{8, 0.8, 17, 4, 0.5, 0.95}, {5, 0.7, 9, 4, 0.5, 1.0}}),
      spec("434.zeusmp", 1, {{75, 0.7, 4.5, 3, 0.4, 1.05}}),
      spec("435.gromacs", 1, {{80, 0.6, 0.3, 2, 0.3, 1.15}}),
      spec("436.cactusADM", 1, {{80, 0.8, 4.5, 3, 0.4, 1.05}}),
      spec("437.leslie3d", 1, {{70, 0.65, 9, 4.5, 0.5, 1.05}}),
      spec("444.namd", 1, {{75, 0.5, 0.1, 2, 0.3, 1.2}}),
      spec("447.dealII", 3, {{20, 0.6, 0.7, 1.8, 0.3, 1.0}, {6, 0.7, 3, 2, 0.3, 0.95}}),
      spec("450.soplex", 3, {{14, 0.95, 18, 3, 0.3, 0.8}, {9, 0.9, 8, 2.5, 0.3, 0.85}}),
      spec("453.povray", 1, {{70, 0.6, 0.01, 1, 0.2, 1.05}}),
      spec("454.calculix", 2, {{30, 0.5, 0.3, 2, 0.3, 1.2}, {8, 0.7, 3, 2.5, 0.3, 1.0}}),
      spec("459.GemsFDTD", 4, {{12, 0.8, 15, 4, 0.5, 1.0}, {5, 0.7, 6, 4, 0.5, 1.05}}),
      spec("465.tonto", 2, {{28, 0.55, 0.3, 1.8, 0.3, 1.1}, {8, 0.6, 1.5, 2, 0.3, 1.05}}),
      spec("470.lbm", 1, {{70, 0.7, 20, 6, 0.6, 1.1}}),
      spec("481.wrf", 5, {{9, 0.65, 3, 2.5, 0.4, 1.1}, {5, 0.7, 8, 4, 0.4, 1.0}}),
      spec("482.sphinx3", 1, {{80, 0.7, 8, 3.5, 0.4, 1.0}}),

      parsec("blackscholes", 1,
             {{10, 0.8, 0.5, 2, 0.2, 0.85, 0, 1},
              {45, 0.55, 0.2, 2, 0.3, 1.15},
              {6, 0.9, 1, 2, 0.2, 0.8, 0, 1}}),
      parsec("bodytrack", 10, {{5, 0.65, 0.5, 2, 0.2, 1.05}, {1.5, 0.7, 1, 2, 0.2, 0.9, 0, 1}}),
      parsec("canneal", 1, {{12, 1.0, 6, 2, 0.2, 0.8, 0, 1}, {50, 1.3, 17, 2.5, 0.2, 0.7}}),
      parsec("ferret", 1, {{60, 0.75, 3, 2, 0.3, 1.0, 0.05}}),
      parsec("fluidanimate", 1, {{60, 0.8, 2.5, 2, 0.3, 1.05}}),
      parsec("freqmine", 2, {{25, 0.8, 1.6, 1.8, 0.2, 0.95}, {4, 0.9, 3, 2, 0.2, 0.85, 0, 1}}),
      parsec("streamcluster", 1, {{65, 0.7, 15, 4, 0.5, 0.95}}),
      parsec("swaptions", 1, {{60, 0.6, 0.02, 1, 0.3, 1.1}}),
      parsec("x264", 3, {{15, 0.55, 1.2, 2, 0.3, 1.1, 0.1}, {4, 0.6, 2.5, 2, 0.3, 1.05, 0.3}}),

      splash("barnes", 1, {{60, 0.75, 1, 1.5, 0.2, 1.0}}),
      splash("cholesky", 4, {{10, 0.6, 4, 3, 0.4, 1.1}, {3, 0.8, 6, 2, 0.3, 0.9, 0, 1}}),
      splash("fmm", 1, {{60, 0.65, 0.9, 1.8, 0.3, 1.1}}),
      splash("ocean_cp", 3, {{18, 0.75, 16, 4, 0.5, 1.0}, {4, 0.7, 7, 4, 0.5, 1.0}}),
      splash("ocean_ncp", 1, {{60, 0.85, 20, 4, 0.5, 0.95}}),
      splash("radiosity", 1, {{60, 0.7, 0.6, 1.5, 0.2, 1.0}}),
      splash("raytrace", 1, {{8, 0.8, 1, 1.5, 0.2, 0.85, 0, 1}, {50, 0.8, 1.5, 1.5, 0.2, 0.95}}),
      splash("volrend", 4, {{12, 0.7, 0.7, 1.5, 0.2, 0.95}, {2.5, 0.8, 1, 1.5, 0.2, 0.85, 0, 1}}),
      splash("water_nsquared", 1, {{60, 0.55, 0.2, 1.5, 0.3, 1.15}}),
      splash("water_spatial", 1, {{60, 0.55, 0.4, 1.8, 0.3, 1.15}}),

      npb("bt", 4, {{10, 0.6, 4, 3.5, 0.4, 1.15}, {6, 0.6, 7, 4, 0.4, 1.1}}),
      npb("cg", 1, {{65, 0.9, 17, 4, 0.4, 0.85}}),
      npb("ft", 4, {{9, 0.6, 5, 4, 0.5, 1.15}, {6, 0.7, 13, 5, 0.5, 1.0}}),
      npb("lu", 1, {{65, 0.65, 8, 4, 0.4, 1.1}}),
      npb("sp", 4, {{11, 0.65, 12, 5, 0.5, 1.1}, {5, 0.6, 7, 5, 0.5, 1.1}}),
      npb("ua", 5, {{8, 0.8, 7, 3, 0.4, 1.0}, {4, 0.75, 3, 3, 0.4, 1.05}}),
  };
}

class draw {
 public:
  explicit draw(std::uint64_t seed) : next_(seed) {}

  // From low to high, uniform.
  double operator()(double low, double high) {
    return low + (high - low) * static_cast<double>(next_() >> 11) * 0x1p-53;
  }
  // The same of the logarithm: each tenfold is as likely.
  double tenfold(double low, double high) {
    return std::exp((*this)(std::log(low), std::log(high)));
  }
  // 1 to most.
  unsigned number(unsigned most) { return 1 + static_cast<unsigned>((*this)(0, most)); }

 private:
  random::splitmix64 next_;
};

}  // namespace

const std::vector<program>& simulated_workloads() {
  static const std::vector<program> made = make();
  return made;
}

std::vector<program> drawn_workloads(std::uint64_t seed) {
  constexpr double about = 65;  // seconds, as the 54
  std::vector<program> made;
  for (std::size_t i = 0; i < simulated_workloads().size(); ++i) {
    draw from(random::derive_seed(seed, i));
    const unsigned threads = i % 2 == 0 ? 1 : all;
    const unsigned phases = from.number(3);
    const unsigned rounds = phases == 1 ? 1 : from.number(6);
    std::vector<shape> shapes;
    double sum = 0;
    for (unsigned j = 0; j < phases; ++j) {
      const double misses = from.tenfold(0.01, 30);
      // Who misses often reads ahead, mostly.
      shapes.push_back({.seconds = from.tenfold(1, 5),
                        .cycles = from(0.45, 1.3),
                        .misses = misses,
                        .parallel = misses > 5 ? from(2, 6) : from(1, 3),
                        .overlap = from(0.2, 0.6),
                        .activity = from(0.7, 1.2),
                        .sleeping = from(0, 1) < 0.9 ? 0 : from(0, 0.3),
                        .threads = j > 0 && from(0, 1) < 0.3 ? 1 : -1});
      sum += shapes.back().seconds;
    }
    for (shape& one : shapes) one.seconds *= about / sum / rounds;
    made.push_back(
        shaped("drawn", threads, ("drawn-" + std::to_string(i + 1)).c_str(), rounds, shapes));
  }
  return made;
}

const program& simulated_workload_named(std::string_view name) {
  const auto& of = simulated_workloads();
  const auto at = std::ranges::find(of, name, &program::name);
  if (at == of.end()) {
    throw platform_error("no simulated workload is called " + std::string(name) +
                         "; `assay-governor-simulation list` names them");
  }
  return *at;
}

}  // namespace assay::energy
