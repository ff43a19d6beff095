// Where the judge of histories is: compiled into each program that links assay::rig, by the
// program's own project, as the path is known there and not where the library was built.

namespace assay::rig {

extern const char* judge_path;
// NOLINTNEXTLINE(cppcoreguidelines-interfaces-global-init): it is read when main() runs
[[maybe_unused]] static const char* const path_set = judge_path = ASSAY_JUDGE;

}  // namespace assay::rig
