// Does a map answer as std::map does, asked by one thread?
//
//     const auto seen = check_model(find_subject("my_map"),
//                                   {.seed = 7, .operations = 10'000, .keys = 64});
//     EXPECT_EQ(seen.problem, "");
//
// Every operation that the map offers is asked at random of it and of a std::map: for each type of
// key and value that it holds, on a new map each time: in one sequence that grows, key by key, in a
// long one, and in many short ones of few keys; next to the least key there is, next to the
// greatest and scattered over all. Ranges are of all kinds, also of nothing and from a key to a
// lesser one. At the end of each sequence a walk must meet what the std::map holds, and the map
// must find no broken invariant in itself.
//
// A sequence that ends in a difference is made smaller, by leaving out keys and operations, as long
// as it still ends in a difference, or for some seconds. The rest is reported:
//
//     my_map differs from std::map in find(3). Seed 7, keys of uint64 and values of uint64; the
//     smallest of what was tried, on an empty map:
//       insert(3, 12)       true
//       erase(3)            true
//       find(3)             12           but std::map: nothing

#ifndef ASSAY_RIG_MODEL_H_
#define ASSAY_RIG_MODEL_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "assay/subject/subject.h"

namespace assay::rig {

struct modelling {
  std::uint64_t seed;
  std::uint64_t operations;                   // of all types together
  std::uint64_t keys;                         // at most this many different ones, from 1 on
  std::chrono::milliseconds shrinking{4000};  // at most, of what led to a difference
  // After which it ends early, for maps that are slow. Each type gets its share.
  std::optional<std::chrono::duration<double>> duration{};
};

struct modelled {
  // Fewer of each type are over before the map has grown.
  static constexpr std::uint64_t enough = 1000;
  std::uint64_t operations = 0;
  std::string problem{};  // the first difference, or empty; an exception of the map is one, too
  int ended_by = 0;       // the signal that ended `check_model_apart`'s process, or 0
};

[[nodiscard]] modelled check_model(const subject::subject_entry& subject, const modelling& asked);

// The same in a separate process. If a signal ends it, as a crash of the map does, the sequence of
// operations that led there is made smaller in further processes, and reported as a difference is.
// The calling process must have no other threads.
[[nodiscard]] modelled check_model_apart(const subject::subject_entry& subject,
                                         const modelling& asked);

}  // namespace assay::rig

#endif  // ASSAY_RIG_MODEL_H_
