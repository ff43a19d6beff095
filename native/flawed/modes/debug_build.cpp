// CMakeLists.txt has this file compiled without optimisation, and without NDEBUG.

#include "flawed/modes/debug_build.h"

#include <cstdint>
#include <map>
#include <mutex>

#include "subjects/locked_map.h"

namespace assay::flawed {
namespace {

// A type of this file alone. Templates over it have no other instance, of which the linker would
// keep either the optimised one or this one, for both.
struct less {
  bool operator()(std::uint64_t left, std::uint64_t right) const { return left < right; }
};

using debug_map = locked_map<std::map<std::uint64_t, std::uint64_t, less>, std::mutex>;

}  // namespace

const subject::subject_entry& debug_build() {
  static const subject::subject_entry entry = subject::reclaiming(
      subject::describe_subject<debug_map>("std_map_mutex", "std_map_mutex in a debug build"),
      "at once");
  return entry;
}

}  // namespace assay::flawed
