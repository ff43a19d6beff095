// What a result depends on besides the experiment: the machine, the kernel's settings and the
// program itself.

#ifndef ASSAY_HOST_ENVIRONMENT_H_
#define ASSAY_HOST_ENVIRONMENT_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace assay::host {

// Describes machine and program as one JSON object. What cannot be found out is `{"unavailable":
// reason}`. Its kernel files are read below `root`, so that a test can show it a machine unlike its
// own.
//
// processor.model     text
// processor.governor  text, or a list when processors differ
// processor.boost     boolean
// topology            packages, cores, hardware_threads, numa_nodes: numbers; caches: a list of
//                     {level, bytes, shared_by: hardware threads}; allowed: processors of this
//                     process
// virtualised         {value: boolean, because: text}
// kernel              {release, version}
// program             {commit, compiler, flags, build_type}
// allocator           {name, version, object: file that the process's malloc is in}
// memory              page_bytes: number, transparent_huge_pages: text
// address_randomisation {kernel: 0, 1 or 2, process: boolean}
nlohmann::json environment(const std::filesystem::path& root = "/");

}  // namespace assay::host

#endif  // ASSAY_HOST_ENVIRONMENT_H_
