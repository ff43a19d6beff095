#include "evaluation/rival_governors.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace assay::energy {
namespace {

constexpr double sampled_each = 0.01;  // seconds

double load_of(const interval& last) { return std::min(last.active_processors, 1.0); }

kilohertz at_least(const std::vector<kilohertz>& frequencies, double wanted) {
  const auto at = std::ranges::find_if(frequencies, [&](kilohertz one) { return one >= wanted; });
  return at == frequencies.end() ? frequencies.back() : *at;
}

kilohertz at_most(const std::vector<kilohertz>& frequencies, double wanted) {
  const auto above = std::ranges::find_if(frequencies, [&](kilohertz one) { return one > wanted; });
  return above == frequencies.begin() ? *above : *(above - 1);
}

}  // namespace

decision fixed_governor::first() { return {frequency_, 1, "one frequency for ever"}; }
decision fixed_governor::next(const interval& /*last*/) { return first(); }

decision ondemand_governor::first() { return {frequencies_.front(), sampled_each, "at first"}; }

decision ondemand_governor::next(const interval& last) {
  const double load = load_of(last);
  if (load > 0.95) return {frequencies_.back(), sampled_each, "a load above 95%"};
  const double least = frequencies_.front();
  const double most = frequencies_.back();
  return {at_least(frequencies_, least + load * (most - least)), sampled_each, "by the load"};
}

decision conservative_governor::first() { return {frequencies_.front(), sampled_each, "at first"}; }

decision conservative_governor::next(const interval& last) {
  const double load = load_of(last);
  const double step = 0.05 * frequencies_.back();
  if (load > 0.8) wanted_ += step;
  if (load < 0.2) wanted_ -= step;
  wanted_ = std::clamp<double>(wanted_, frequencies_.front(), frequencies_.back());
  return {at_most(frequencies_, wanted_), sampled_each, "a step at a time"};
}

decision schedutil_governor::first() { return {frequencies_.front(), sampled_each, "at first"}; }

decision schedutil_governor::next(const interval& last) {
  const double kept = std::exp2(-last.seconds / 0.032);
  const double now = load_of(last) * last.frequency / frequencies_.back();
  utilisation_ = kept * utilisation_ + (1 - kept) * now;
  return {at_least(frequencies_, 1.25 * utilisation_ * frequencies_.back()), sampled_each,
          "by the utilisation"};
}

decision oracle_governor::first() { return {best_(), sampled_each, "known"}; }
decision oracle_governor::next(const interval& /*last*/) { return first(); }

std::unique_ptr<governor> rival_named(std::string_view name, const domain& of) {
  if (name == "performance") return std::make_unique<fixed_governor>(of.frequencies.back());
  if (name == "powersave") return std::make_unique<fixed_governor>(of.frequencies.front());
  if (name == "ondemand") return std::make_unique<ondemand_governor>(of);
  if (name == "conservative") return std::make_unique<conservative_governor>(of);
  if (name == "schedutil") return std::make_unique<schedutil_governor>(of);
  throw platform_error("no governor is called " + std::string(name) +
                       "; there are performance, powersave, ondemand, conservative and schedutil");
}

}  // namespace assay::energy
