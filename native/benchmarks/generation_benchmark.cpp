// What does it take to fill a batch with operations?
//
// Measures, in ns of the thread's processor time for an operation: one fused pass in each set of
// instructions, every distribution, and Zipf's law drawn exactly and by the usual formula.

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/fixture/benchmark.h"
#include "assay/fixture/keep.h"
#include "assay/host/clock.h"
#include "assay/measure/ns_each.h"
#include "assay/random/xoshiro256pp.h"
#include "assay/workload/generator.h"
#include "assay/workload/index_source.h"
#include "assay/workload/uniform_lanes.h"

namespace {

using assay::host::instruction_set;
using assay::workload::distribution;
using assay::workload::distribution_kind;
using assay::workload::key_layout;
using assay::workload::key_space;
using assay::workload::mix;
using assay::workload::operation_batch;

constexpr std::uint64_t zipf_range = 1'000'000'000;
constexpr double zipf_exponent = 0.99;
constexpr mix usual_mix{20, 10, 70};

using index_batch = std::array<std::uint64_t, operation_batch::capacity>;

// The sum of k^-s for k from 1 to n, by the Euler-Maclaurin formula after the first 10,000 terms.
double generalised_harmonic(double n, double s) {
  constexpr double first = 10'000;
  double sum = 0;
  for (int k = 1; k < static_cast<int>(first); ++k) sum += std::pow(k, -s);
  const auto integral = [&](double x) { return std::pow(x, 1 - s) / (1 - s); };
  return sum + integral(n) - integral(first) + (std::pow(first, -s) + std::pow(n, -s)) / 2 +
         s / 12 * (std::pow(first, -s - 1) - std::pow(n, -s - 1));
}

// Zipf's law as YCSB draws it: nearly, by the formula of Gray et al. (1994, "Quickly generating
// billion-record synthetic databases", section 3.2).
class gray_zipf {
 public:
  gray_zipf(double range, double exponent, std::uint64_t seed)
      : engine_(seed),
        range_(range),
        zeta_(generalised_harmonic(range, exponent)),
        second_(1 + std::pow(0.5, exponent)),
        alpha_(1 / (1 - exponent)),
        eta_((1 - std::pow(2 / range, 1 - exponent)) / (1 - second_ / zeta_)) {}

  void fill(index_batch& indices) {
    assay::random::xoshiro256pp engine = engine_;
    const gray_zipf law = *this;  // local copies stay in registers
    for (auto& index : indices) index = law.index(static_cast<double>(engine() >> 11) * 0x1p-53);
    engine_ = engine;
  }

 private:
  [[nodiscard]] std::uint64_t index(double u) const {
    const double uz = u * zeta_;
    if (uz < 1) return 0;
    if (uz < second_) return 1;
    return static_cast<std::uint64_t>(range_ * std::pow(eta_ * u - eta_ + 1, alpha_));
  }

  assay::random::xoshiro256pp engine_;
  double range_;
  double zeta_;
  double second_;
  double alpha_;
  double eta_;
};

assay::fixture::figures measure(const assay::fixture::settings& settings) {
  using assay::fixture::keep;
  assay::fixture::turns all;
  // `fill` is told to fill a batch.
  const auto add = [&all](const char* group, const std::string& variant, auto fill) {
    all.add(group, variant, [fill](std::uint64_t) {
      constexpr std::size_t batches = 256;
      return assay::measure::ns_each(
          batches * operation_batch::capacity,
          [&fill] {
            for (std::size_t i = 0; i < batches; ++i) fill();
          },
          assay::host::processor_time_ns);
    });
  };
  const auto batch = std::make_shared<operation_batch>();
  const auto filled_by = [&batch](std::shared_ptr<assay::workload::generator> next) {
    return [batch, next = std::move(next)] {
      next->fill(*batch, operation_batch::capacity);
      keep(*batch);
    };
  };

  const key_space small(20'000, key_layout::dense, settings.seed);
  for (const auto instructions :
       {instruction_set::scalar, instruction_set::avx2, instruction_set::avx512}) {
    if (instructions > assay::host::best_instruction_set()) break;
    add("ns of an operation, a batch filled in one pass",
        std::string(assay::host::instruction_set_names[static_cast<std::size_t>(instructions)]),
        filled_by(std::make_shared<assay::workload::uniform_lanes>(small, usual_mix, settings.seed,
                                                                   instructions)));
  }

  const key_space large(zipf_range, key_layout::dense, settings.seed);
  const std::vector<std::pair<std::string, distribution>> distributions{
      {"uniform", {.kind = distribution_kind::uniform}},
      {"zipf", {.kind = distribution_kind::zipf, .exponent = zipf_exponent, .scrambled = true}},
      {"hot_set", {.kind = distribution_kind::hot_set, .scrambled = true}},
      {"binomial", {.kind = distribution_kind::binomial}},
      {"exponential", {.kind = distribution_kind::exponential, .mean_percent = 10}},
      {"normal", {.kind = distribution_kind::normal}},
      {"sequential", {.kind = distribution_kind::sequential}},
      {"latest", {.kind = distribution_kind::latest}},
      {"empirical", {.kind = distribution_kind::empirical, .weights = {1, 4, 9, 16, 9, 4, 1}}},
  };
  for (const auto& [name, keys] : distributions) {
    add("ns of an operation, by distribution", name,
        filled_by(assay::workload::make_generator(large, {.keys = keys, .mix = usual_mix},
                                                  settings.seed)));
  }

  const auto indices = std::make_shared<index_batch>();
  const auto fractions = std::make_shared<index_batch>();
  const std::shared_ptr<assay::workload::index_source> exact = assay::workload::make_index_source(
      large, {.keys = {.kind = distribution_kind::zipf, .exponent = zipf_exponent}}, settings.seed,
      {});
  add("ns of a draw from Zipf's law", "exact", [indices, fractions, exact] {
    exact->fill(*indices, *fractions);
    keep(*indices);
    keep(*fractions);
  });
  const auto gray = std::make_shared<gray_zipf>(zipf_range, zipf_exponent, settings.seed);
  add("ns of a draw from Zipf's law", "gray", [indices, gray] {
    gray->fill(*indices);
    keep(*indices);
  });
  return all.run(settings.rounds, settings.seed);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli("Measures what it takes to draw operations.");
  return assay::fixture::run_benchmark(cli, argc, argv, 31, measure);
}
