// Programs decide much that nothing speaks for or against: which of two equal tasks runs first,
// which of two costs that differ by less than is known of them is the lower. A program that decides
// such things always in the same way makes its speed depend on accidents, and whoever measures it
// measures the accident. So every such decision is drawn (Blackwell 1998, section 3.2), and each
// has a seed of its own, which follows from the program's seed and the decision's name
// (section 7.1):
//
//     const assay::random::decisions program(seed);                // print the seed with the
//     result program.named("victim").choose(3)                            // P2: 0, 1 or 2, each as
//     likely program.named("next task").arg_min(costs, 0.05)              // P3: costs count to
//     within 5% program.named("queue length").estimated(25, 2)               // P4: 25, give or
//     take 2 program.named("server").arg_min_estimated(means, errors)     // P4: as likely as it is
//     the least
//
// The same seed decides all of it again. A decision can be repeated alone, while the others vary:
//
//     assay::random::decisions other(another_seed);
//     other.fix("victim", program.seed_of("victim"));
//
// and with decisions::none() nothing is drawn: the first of equals is taken, costs and estimates
// are taken as they are.
//
// Names are stable if they say what is decided, not when: "inline parse_line" rather than "decision
// 17". Then a change elsewhere in the program changes no other decision. assay_lab.randomness in
// Python decides the same from the same seeds and names.

#ifndef ASSAY_RANDOM_DECISION_H_
#define ASSAY_RANDOM_DECISION_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/random/hash.h"
#include "assay/random/splitmix64.h"

namespace assay::random {

// The greatest amount of noise. Blackwell went up to 5, at which the plainest of his algorithms
// for layouts could be worse than random layouts, and the others not (section 4.6).
inline constexpr double most_randomness = 10;

// The seed of the decision with this name in the program with this seed: the stream of that seed
// whose number is the name's hash, FNV-1a of its bytes (Fowler, Noll and Vo 1991).
[[nodiscard]] constexpr std::uint64_t seed_of_decision(std::uint64_t program,
                                                       std::string_view name) {
  return derive_seed(program, hash_of(name));
}

// One decision, or several that belong together: each call draws anew. One thread at a time. Calls
// with candidates take linear time and allocate; those that say so throw std::invalid_argument.
class decision {
 public:
  explicit constexpr decision(std::uint64_t seed) : draw_(seed) {}
  // Draws nothing.
  static constexpr decision none() { return {}; }

  // P2. A number below `candidates`, each as likely. Throws if there are none.
  std::size_t choose(std::size_t candidates) {
    if (candidates == 0) throw std::invalid_argument("there is no candidate to choose");
    if (!draw_) return 0;
    // As many of the 2^64 numbers for each candidate: those left over are drawn again.
    const std::uint64_t n = candidates;
    const std::uint64_t left_over = -n % n;
    std::uint64_t drawn = (*draw_)();
    while (drawn < left_over) drawn = (*draw_)();
    return drawn % n;
  }

  // P3. Which cost is the least when each is multiplied by e^(C Z), Z standard normal (section 4.5,
  // equation 1): for small C they count to within 100 C percent; zeros stay, signs too. Of equals,
  // one at random: without noise that is all that is drawn. Throws without costs, if one is not a
  // number, and if C is not from 0 to most_randomness.
  std::size_t arg_min(std::span<const double> costs, double c = 0) {
    return best(costs, c, std::less());
  }
  // The greatest, in the same way.
  std::size_t arg_max(std::span<const double> values, double c = 0) {
    return best(values, c, std::greater());
  }

  // The value times e^(C Z). Throws if C is not from 0 to most_randomness.
  double noisy(double value, double c) {
    check_randomness(c);
    return c == 0 ? value : value * std::exp(c * normal());
  }

  // P4. What the estimated value may be: normal, with this mean and standard deviation. Throws if
  // the estimate is not a number, or its error is not a finite number of at least 0.
  double estimated(double estimate, double standard_error) {
    check_estimate(estimate, standard_error, "");
    return estimate + standard_error * normal();
  }

  // P4. Which of several estimated values is the least, each drawn as `estimated` does: a candidate
  // is chosen as often as it would be right, given the estimates (Thompson 1933). Throws without
  // candidates, what `estimated` throws, and if there are not as many errors as estimates.
  std::size_t arg_min_estimated(std::span<const double> estimates,
                                std::span<const double> standard_errors) {
    return best_estimated(estimates, standard_errors, std::less());
  }
  std::size_t arg_max_estimated(std::span<const double> estimates,
                                std::span<const double> standard_errors) {
    return best_estimated(estimates, standard_errors, std::greater());
  }

  // A standard normal number (Box and Muller 1958), from two draws.
  double normal() {
    if (!draw_) return 0;
    constexpr double step = 0x1p-53;
    const double above_0 = static_cast<double>(((*draw_)() >> 11) + 1) * step;  // at most 1
    const double below_1 = static_cast<double>((*draw_)() >> 11) * step;
    return std::sqrt(-2 * std::log(above_0)) * std::cos(2 * std::numbers::pi * below_1);
  }

 private:
  constexpr decision() = default;

  static std::string written(double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", number);
    return text.data();
  }

  static void check_randomness(double c) {
    if (c >= 0 && c <= most_randomness) return;
    throw std::invalid_argument("the randomness C is " + written(c) +
                                ": it must be from 0, none, to 10");
  }

  static void check_estimate(double estimate, double standard_error, const std::string& whose) {
    if (std::isnan(estimate)) {
      throw std::invalid_argument("the estimate" + whose + " is not a number");
    }
    if (standard_error >= 0 && std::isfinite(standard_error)) return;
    throw std::invalid_argument("the standard error" + whose + " is " + written(standard_error) +
                                ": it must be a finite number of at least 0");
  }

  // How messages name a candidate, counted from 0 as answers are.
  static std::string of_candidate(std::size_t i, std::size_t candidates) {
    return " of candidate " + std::to_string(i) + " of " + std::to_string(candidates);
  }

  template <class Better>
  std::size_t best(std::span<const double> values, double c, Better better) {
    check_randomness(c);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isnan(values[i])) continue;
      throw std::invalid_argument("the value" + of_candidate(i, values.size()) +
                                  " is not a number");
    }
    return best_of(values.size(), [&](std::size_t i) { return noisy(values[i], c); }, better);
  }

  template <class Better>
  std::size_t best_estimated(std::span<const double> estimates,
                             std::span<const double> standard_errors, Better better) {
    if (estimates.size() != standard_errors.size()) {
      throw std::invalid_argument("there are " + std::to_string(estimates.size()) +
                                  " estimates and " + std::to_string(standard_errors.size()) +
                                  " standard errors");
    }
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      check_estimate(estimates[i], standard_errors[i], of_candidate(i, estimates.size()));
    }
    return best_of(
        estimates.size(),
        [&](std::size_t i) { return estimated(estimates[i], standard_errors[i]); }, better);
  }

  template <class ValueOf, class Better>
  std::size_t best_of(std::size_t candidates, ValueOf value_of, Better better) {
    std::vector<std::size_t> equals;
    double best = 0;
    for (std::size_t i = 0; i < candidates; ++i) {
      const double value = value_of(i);
      if (equals.empty() || better(value, best)) {
        equals.clear();
        best = value;
      }
      if (value == best) equals.push_back(i);
    }
    const std::size_t chosen = choose(equals.size());
    return equals[chosen];
  }

  std::optional<splitmix64> draw_{};  // none draws nothing
};

// The decisions of a program. Threads may ask for them at the same time while nobody calls fix().
class decisions {
 public:
  explicit decisions(std::uint64_t seed) : seed_(seed) {}
  // Nothing is drawn, except by decisions that are fixed.
  static decisions none() { return {}; }

  // The decision with this name, from its beginning. Takes time with the length of its name.
  [[nodiscard]] decision named(std::string_view name) const {
    const auto fixed = fixed_.find(name);
    if (fixed != fixed_.end()) return decision(fixed->second);
    return seed_ ? decision(seed_of_decision(*seed_, name)) : decision::none();
  }

  // What the decision is drawn from, which is what fix() takes. Throws std::invalid_argument if it
  // is not drawn.
  [[nodiscard]] std::uint64_t seed_of(std::string_view name) const {
    const auto fixed = fixed_.find(name);
    if (fixed != fixed_.end()) return fixed->second;
    if (!seed_) throw std::invalid_argument("nothing is drawn, so no decision has a seed");
    return seed_of_decision(*seed_, name);
  }

  // Draws that decision from this seed, whatever the program's is.
  void fix(std::string name, std::uint64_t seed) { fixed_.insert_or_assign(std::move(name), seed); }

 private:
  decisions() = default;

  std::optional<std::uint64_t> seed_{};
  std::map<std::string, std::uint64_t, std::less<>> fixed_{};
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_DECISION_H_
