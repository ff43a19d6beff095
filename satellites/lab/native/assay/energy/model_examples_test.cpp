// Python predicts by the same equations (python/assay/energy/model.py): both are held to the same
// examples.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "assay/energy/model.h"

namespace assay::energy {
namespace {

TEST(model, gives_what_the_examples_say) {
  std::ifstream file(ASSAY_MODEL_EXAMPLES);
  const nlohmann::json examples = nlohmann::json::parse(file);
  ASSERT_FALSE(examples.empty());
  for (const auto& example : examples) {
    const double m = memory_boundness({example["one"][0], example["one"][1]},
                                      {example["other"][0], example["other"][1]});
    if (example["m"].is_null()) {
      EXPECT_TRUE(std::isinf(m)) << example;
      continue;
    }
    EXPECT_NEAR(m, example["m"].get<double>(), 1e-9) << example;
    if (example.contains("at")) {
      EXPECT_NEAR(relative_time(m, example["at"]), example["times"].get<double>(), 1e-9) << example;
    }
  }
}

}  // namespace
}  // namespace assay::energy
