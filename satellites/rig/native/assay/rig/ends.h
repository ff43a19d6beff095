// Keys and values at the ends of their types, and maps of other types than numbers of 64 bits.
//
//     const ends keys = end_keys(subject, type_spec::kind::uint64);   // 0, 1, 2, 2^63-1, 2^63, ...
//     const auto map = build_as(subject.types.back(), 8, threads);  // strings, if it holds any
//     map->attach()->ask({.kind = insert, .key = keys[0], .value = 7});   // the empty string
//
// A map that keeps a number for itself, adds 1 to a key, compares numbers as if they had signs or
// cuts them to 32 bits is wrong there and nowhere else. So each check also asks about these, and
// never about what a map says that it does not take.

#ifndef ASSAY_RIG_ENDS_H_
#define ASSAY_RIG_ENDS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/subject/any_map.h"
#include "assay/subject/subject.h"

namespace assay::rig {

using ends = std::array<std::uint64_t, 8>;  // ascending

// Numbers that represent keys.
[[nodiscard]] inline std::uint64_t least_key(const subject::subject_entry& subject) {
  return subject.takes_any_key ? 0 : 1;
}
[[nodiscard]] inline std::uint64_t greatest_key(const subject::subject_entry& subject,
                                                subject::type_spec::kind kind) {
  const std::uint64_t all = kind == subject::type_spec::kind::uint32 ? UINT32_MAX : UINT64_MAX;
  return subject.takes_any_key ? all : all >> 1U;  // as trials ask for, at most
}

// Three at each end, and two where numbers with a sign go from their greatest to their least, or
// else where they no longer fit into half of their bits.
[[nodiscard]] constexpr ends ends_between(std::uint64_t least, std::uint64_t greatest) {
  const std::uint64_t middle = greatest == UINT64_MAX   ? std::uint64_t{1} << 63U
                               : greatest == UINT32_MAX ? std::uint64_t{1} << 31U
                               : greatest > UINT32_MAX  ? std::uint64_t{1} << 32U
                                                        : std::uint64_t{1} << 16U;
  return {least, least + 1, least + 2, middle - 1, middle, greatest - 2, greatest - 1, greatest};
}
[[nodiscard]] inline ends end_keys(const subject::subject_entry& subject,
                                   subject::type_spec::kind kind) {
  return ends_between(least_key(subject), greatest_key(subject, kind));
}

// Those that the map does not reserve.
[[nodiscard]] inline std::vector<std::uint64_t> end_values(const subject::subject_entry& subject,
                                                           subject::type_spec::kind kind) {
  std::vector<std::uint64_t> values;
  for (const std::uint64_t value : ends_between(0, subject.greatest_value(kind))) {
    if (!subject.reserves(value)) values.push_back(value);
  }
  return values;
}

// " with keys of bytes and values of bytes"; nothing of the first types that the subject holds.
[[nodiscard]] inline std::string types_suffix(const subject::subject_entry& subject,
                                              const subject::held_types& types) {
  if (&types == &subject.types.front()) return "";
  return " with keys of " + to_string(types.key) + " and values of " + to_string(types.value);
}

// A map of these types. Its strings represent numbers and nothing else, up to the longest, which
// has to be allocated: 0 is the empty one.
[[nodiscard]] inline std::unique_ptr<subject::any_map> build_as(const subject::held_types& types,
                                                                std::uint64_t key_range,
                                                                unsigned threads) {
  const auto bare = [](subject::type_spec::kind kind) {
    return subject::type_spec{.type = kind, .least = 0, .most = 64, .bare = true};
  };
  return types.build({.key_range = key_range,
                      .threads = threads,
                      .key = bare(types.key),
                      .value = bare(types.value)});
}

}  // namespace assay::rig

#endif  // ASSAY_RIG_ENDS_H_
