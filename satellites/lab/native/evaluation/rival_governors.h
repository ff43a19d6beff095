// The governors of Linux, by the descriptions in its documentation (admin-guide/pm/cpufreq), to
// judge another one by. Our own code, of what a program that is busy or sleeps can show; boosts for
// input and output are left out.
//
// They see the load of the busiest processor; an interval tells only how many are active, so that
// one or more count as a full load.

#ifndef EVALUATION_RIVAL_GOVERNORS_H_
#define EVALUATION_RIVAL_GOVERNORS_H_

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "assay/governor/governor.h"

namespace assay::energy {

// One frequency for ever: `performance` with the highest, `powersave` with the lowest.
class fixed_governor final : public governor {
 public:
  explicit fixed_governor(kilohertz frequency) : frequency_(frequency) {}
  [[nodiscard]] decision first() override;
  [[nodiscard]] decision next(const interval& last) override;

 private:
  kilohertz frequency_;
};

// Proportional to the load between lowest and highest, and the highest above up_threshold (95%),
// each 10 ms.
class ondemand_governor final : public governor {
 public:
  explicit ondemand_governor(const domain& of) : frequencies_(of.frequencies) {}
  [[nodiscard]] decision first() override;
  [[nodiscard]] decision next(const interval& last) override;

 private:
  std::vector<kilohertz> frequencies_;
};

// A step of 5% of the highest up above a load of 80%, down below one of 20%, each 10 ms.
class conservative_governor final : public governor {
 public:
  explicit conservative_governor(const domain& of)
      : frequencies_(of.frequencies), wanted_(of.frequencies.front()) {}
  [[nodiscard]] decision first() override;
  [[nodiscard]] decision next(const interval& last) override;

 private:
  std::vector<kilohertz> frequencies_;
  double wanted_;
};

// 1.25 times the utilisation, which is load times frequency and forgets half in 32 ms, each 10 ms.
class schedutil_governor final : public governor {
 public:
  explicit schedutil_governor(const domain& of) : frequencies_(of.frequencies) {}
  [[nodiscard]] decision first() override;
  [[nodiscard]] decision next(const interval& last) override;

 private:
  std::vector<kilohertz> frequencies_;
  double utilisation_ = 0;  // of the highest frequency
};

// Knows what is the best at every moment, by a function that is asked each 10 ms.
class oracle_governor final : public governor {
 public:
  explicit oracle_governor(std::function<kilohertz()> best) : best_(std::move(best)) {}
  [[nodiscard]] decision first() override;
  [[nodiscard]] decision next(const interval& last) override;

 private:
  std::function<kilohertz()> best_;
};

// performance, powersave, ondemand, conservative or schedutil. Throws platform_error.
[[nodiscard]] std::unique_ptr<governor> rival_named(std::string_view name, const domain& of);

}  // namespace assay::energy

#endif  // EVALUATION_RIVAL_GOVERNORS_H_
