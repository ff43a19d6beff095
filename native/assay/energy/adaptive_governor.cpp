#include "assay/energy/adaptive_governor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "assay/energy/model.h"

namespace assay::energy {
namespace {

constexpr double measured_for = 0.1;  // seconds of an experiment, and between looks at cache misses
constexpr unsigned intervals_of_best = 8;

std::string waits(double m) {
  if (std::isinf(m)) return "a higher frequency gained nothing";
  std::array<char, 100> written{};
  std::snprintf(written.data(), written.size(),
                "the cheapest for a program that waits %.3g ns for each cycle that it computes", m);
  return written.data();
}

}  // namespace

adaptive_governor::adaptive_governor(const training& trained, const adaptive_options& options)
    : options_(options),
      low_(best_trained(trained, load::memory, 1, options.exponent)),
      high_(best_trained(trained, load::compute, 1, options.exponent)),
      few_misses_(0) {
  for (const auto& one : trained.measured) {
    if (one.processors != 1) continue;
    if (one.which == load::compute) {
      levels_.push_back({one.frequency, one.watts});
    } else {
      few_misses_ = std::max(few_misses_, one.cache_misses_per_second / 10);
    }
  }
}

decision adaptive_governor::try_high() {
  step_ = step::high;
  return {high_, measured_for,
          "an experiment: the frequency that is cheapest for a program that computes"};
}

decision adaptive_governor::first() { return try_high(); }

decision adaptive_governor::use_best(double m) {
  const auto cost = [&](const level& one) {
    return relative_cost(one.watts, m, gigahertz(one.frequency), options_.exponent);
  };
  step_ = step::best;
  best_ = std::ranges::min_element(levels_, {}, cost)->frequency;
  left_ = intervals_of_best;
  return {best_, measured_for, waits(m)};
}

decision adaptive_governor::next(const interval& last) {
  switch (step_) {
    case step::high:
      if (last.cache_misses_per_second <= few_misses_) return try_high();
      high_rate_ = last.instructions_per_second;
      step_ = step::low;
      return {low_, measured_for,
              "an experiment: the frequency that is cheapest for a program that waits for memory"};
    case step::low:
      return use_best(memory_boundness({gigahertz(low_), 1 / last.instructions_per_second},
                                       {gigahertz(high_), 1 / high_rate_}));
    case step::best:
      if (--left_ == 0 || (last.cache_misses_per_second < few_misses_ && best_ != high_))
        return try_high();
      return {best_, measured_for, "as before"};
  }
  return try_high();
}

}  // namespace assay::energy
