// Does a map answer as std::map does, asked by one thread?
//
//     const auto difference = difference_from_model(trial::find_subject("my_map"),
//                                                   {.seed = 7, .operations = 10'000, .keys = 64});
//     EXPECT_EQ(difference, std::nullopt);
//
// Every operation that the map offers is asked at random of it and of a std::map; the first answer
// that differs is told with the operations that led to it. At the end a walk must meet what the
// std::map holds.

#ifndef ASSAY_RIG_MODEL_H_
#define ASSAY_RIG_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "assay/trial/subject.h"

namespace assay::rig {

struct modelling {
  std::uint64_t seed;
  std::uint64_t operations;
  std::uint64_t keys;  // from 1 on
};

// The first difference, or nothing. Throws what the map throws.
[[nodiscard]] std::optional<std::string> difference_from_model(const trial::subject_entry& subject,
                                                               const modelling& asked);

}  // namespace assay::rig

#endif  // ASSAY_RIG_MODEL_H_
