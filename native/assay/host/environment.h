// What a result depends on besides the experiment: the machine, the kernel's settings and the
// program itself.

#ifndef ASSAY_HOST_ENVIRONMENT_H_
#define ASSAY_HOST_ENVIRONMENT_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "assay/host/compiled_as.h"

namespace assay::host {

// Describes machine and program as one JSON object; `program` tells how the map and the loop that
// measures it are compiled. What cannot be found out is `{"unavailable": reason}`. Kernel files are
// read below `root`, so that a test can show it a machine unlike its own.
//
//     processor.model        text
//     processor.governor     text, or a list when processors differ
//     processor.boost        boolean
//     topology               packages, cores, hardware_threads, numa_nodes: numbers
//                            caches: a list of {level, bytes, shared_by: hardware threads}
//                            allowed: processors of this process
//                            marks: {compact, scatter, cores_first: {smt: number or null,
//                            socket: list of numbers}}, see sharing_marks in placement.h
//     virtualised            {value: boolean, because: text}
//     kernel                 {release, version}
//     program                {compiler: text; optimised, assertions: boolean; sanitizers: list}
//     library                {commit, compiler, flags, build_type} of Assay's own libraries
//     allocator              {name, version, library: file that malloc is in}, see allocator.h
//     transactions           {name: "none" or "rtm"; of none also because: text}
//     memory                 page_bytes: number, transparent_huge_pages: text
//     address_randomisation  {kernel: 0, 1 or 2, process: boolean}
nlohmann::json environment(const compilation& program, const std::filesystem::path& root = "/");

// The part `transactions` of it.
nlohmann::json transactions();

// What a program of this build says when it is asked for its version: name, version and commit.
std::string version_of(const std::string& program);

}  // namespace assay::host

#endif  // ASSAY_HOST_ENVIRONMENT_H_
