// What the equations promise of one another.

#include "assay/energy/model.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::energy {
namespace {

double time_of(double outside, double cycles, double gigahertz) {
  return outside + cycles / gigahertz;
}

TEST(model, two_times_give_what_made_them) {
  for (const double outside : {0.0, 0.3, 5.0}) {
    for (const double cycles : {0.5, 2.0}) {
      const double m = memory_boundness({3.4, time_of(outside, cycles, 3.4)},
                                        {2.0, time_of(outside, cycles, 2.0)});
      EXPECT_NEAR(m, outside / cycles, 1e-9);
      for (const double at : {1.4, 2.2, 4.0}) {
        EXPECT_NEAR(relative_time(m, at) / relative_time(m, 3.4),
                    time_of(outside, cycles, at) / time_of(outside, cycles, 3.4), 1e-9);
      }
    }
  }
}

TEST(model, noise_leads_to_neither_less_than_no_waiting_nor_to_none) {
  EXPECT_EQ(memory_boundness({1, 4}, {2, 1.9}), 0);
  EXPECT_EQ(memory_boundness({1, 1}, {2, 1}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(memory_boundness({1, 1}, {2, 1.1}), std::numeric_limits<double>::infinity());
}

// With power that grows with the cube of the frequency, ED^2 does not depend on it (section 2.1).
TEST(model, cost_weighs_time_by_the_exponent) {
  const auto cubed = [](double f) { return f * f * f; };
  EXPECT_NEAR(relative_cost(cubed(1.5), 0, 1.5, 2), relative_cost(cubed(3), 0, 3, 2), 1e-9);
  EXPECT_LT(relative_cost(cubed(1.5), 0, 1.5, 0), relative_cost(cubed(3), 0, 3, 0));
  EXPECT_LT(relative_cost(7, std::numeric_limits<double>::infinity(), 1, 2),
            relative_cost(8, std::numeric_limits<double>::infinity(), 3, 2));
}

}  // namespace
}  // namespace assay::energy
