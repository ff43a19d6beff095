#include "assay/host/environment.h"

#include <sys/personality.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "assay/host/allocator.h"
#include "assay/host/build_info.h"
#include "assay/host/placement.h"
#include "assay/host/topology.h"
#include "assay/locks/transaction.h"

namespace assay::host {
namespace {

using nlohmann::json;
using std::filesystem::path;

json unavailable(const std::string& reason) { return {{"unavailable", reason}}; }

std::optional<std::string> first_line(const path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) {
    return std::nullopt;
  }
  return line;
}

json model(const path& root) {
  std::ifstream cpuinfo(root / "proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    // "model name : AMD EPYC" on x86; other architectures have other names for it.
    for (const char* key : {"model name", "cpu model", "Processor", "cpu\t"}) {
      const std::size_t colon = line.find(": ");
      if (line.starts_with(key) && colon != std::string::npos) {
        return line.substr(colon + 2);
      }
    }
  }
  return unavailable("/proc/cpuinfo names no model");
}

json governor(const path& root) {
  std::set<std::string> governors;
  for (const unsigned processor : to_vector(topology::this_machine().allowed())) {
    const std::string name = "sys/devices/system/cpu/cpu" + std::to_string(processor);
    if (const auto line = first_line(root / name / "cpufreq/scaling_governor")) {
      governors.insert(*line);
    }
  }
  if (governors.empty()) {
    return unavailable("the kernel offers no cpufreq here");
  }
  return governors.size() == 1 ? json(*governors.begin()) : json(governors);
}

json boost(const path& root) {
  const path cpu = root / "sys/devices/system/cpu";
  if (const auto line = first_line(cpu / "intel_pstate/no_turbo")) {
    return *line == "0";
  }
  if (const auto line = first_line(cpu / "cpufreq/boost")) {
    return *line == "1";
  }
  std::optional<bool> any;  // policies may each have their own
  for (const unsigned processor : to_vector(topology::this_machine().allowed())) {
    const std::string name = "cpu" + std::to_string(processor);
    if (const auto line = first_line(cpu / name / "cpufreq/boost")) {
      any = any.value_or(false) || *line == "1";
    }
  }
  if (any) return *any;
  return unavailable("the kernel offers neither intel_pstate/no_turbo nor a boost of cpufreq here");
}

json virtualised(const path& root) {
  std::ifstream cpuinfo(root / "proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("flags")) {  // x86; one look suffices, as all processors agree
      const bool hypervisor = (line + ' ').find(" hypervisor ") != std::string::npos;
      return {{"value", hypervisor},
              {"because", std::string("/proc/cpuinfo ") + (hypervisor ? "has" : "lacks") +
                              " the flag hypervisor"}};
    }
  }
  if (const auto type = first_line(root / "sys/hypervisor/type")) {
    return {{"value", true}, {"because", "/sys/hypervisor/type is " + *type}};
  }
  return unavailable("neither /proc/cpuinfo nor /sys/hypervisor/type tells");
}

json describe(const sharing_marks& marks) {
  json described{{"smt", nullptr}, {"socket", marks.socket}};
  if (marks.smt) described["smt"] = *marks.smt;
  return described;
}

json describe(const topology& machine) {
  hwloc_topology* const all = machine.get();
  json caches = json::array();
  for (int depth = 0; depth < hwloc_topology_get_depth(all); ++depth) {
    const hwloc_obj_type_t type = hwloc_get_depth_type(all, depth);
    if (hwloc_obj_type_is_dcache(type) != 0) {
      const hwloc_obj* const cache = hwloc_get_obj_by_depth(all, depth, 0);
      caches.push_back({{"level", cache->attr->cache.depth},
                        {"bytes", cache->attr->cache.size},
                        {"shared_by", hwloc_bitmap_weight(cache->cpuset)}});
    }
  }
  return {{"packages", hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_PACKAGE)},
          {"cores", hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_CORE)},
          {"hardware_threads", hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_PU)},
          {"numa_nodes", hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_NUMANODE)},
          {"caches", caches},
          {"allowed", to_vector(machine.allowed())},
          {"marks",
           {{"compact", describe(marks_of(pinning::policy::compact, machine))},
            {"scatter", describe(marks_of(pinning::policy::scatter, machine))},
            {"cores_first", describe(marks_of(pinning::policy::cores_first, machine))}}}};
}

json kernel() {
  utsname name{};
  uname(&name);
  return {{"release", name.release}, {"version", name.version}};
}

json describe(const allocator& found) {
  json described = {{"name", found.name}, {"library", found.library}};
  if (!found.version.empty()) described["version"] = found.version;
  return described;
}

json describe_allocator() try {
  return describe(allocator_in_use());
} catch (const std::runtime_error& error) {
  return unavailable(error.what());
}

// The chosen word of a kernel setting such as "always [madvise] never".
json transparent_huge_pages(const path& root) {
  const auto line = first_line(root / "sys/kernel/mm/transparent_hugepage/enabled");
  if (!line) {
    return unavailable("the kernel has no transparent huge pages");
  }
  const std::size_t open = line->find('[');
  const std::size_t close = line->find(']');
  if (open == std::string::npos || close == std::string::npos) {
    return *line;
  }
  return line->substr(open + 1, close - open - 1);
}

json address_randomisation(const path& root) {
  json kernel_level = unavailable("/proc/sys/kernel/randomize_va_space cannot be read");
  if (int level = 0; std::ifstream(root / "proc/sys/kernel/randomize_va_space") >> level) {
    kernel_level = level;
  }
  const int flags = personality(0xffffffff);  // asks, and changes nothing
  return {{"kernel", kernel_level},
          {"process", flags >= 0 && (flags & ADDR_NO_RANDOMIZE) == 0 && kernel_level != 0}};
}

json describe(const compilation& program) {
  json sanitizers = json::array();
  if (program.address_sanitizer) sanitizers.push_back("address");
  if (program.thread_sanitizer) sanitizers.push_back("thread");
  return {{"compiler", program.compiler},
          {"optimised", program.optimised},
          {"assertions", program.assertions},
          {"sanitizers", sanitizers}};
}

}  // namespace

json transactions() {
  json found = {{"name", sync::transaction::backend_name()}};
  if (*sync::transaction::why_none() != '\0') found["because"] = sync::transaction::why_none();
  return found;
}

json environment(const compilation& program, const path& root) {
  return {
      {"processor", {{"model", model(root)}, {"governor", governor(root)}, {"boost", boost(root)}}},
      {"topology", describe(topology::this_machine())},
      {"virtualised", virtualised(root)},
      {"kernel", kernel()},
      {"program", describe(program)},
      {"library",
       {{"commit", build_info::commit},
        {"compiler", build_info::compiler},
        {"flags", build_info::flags},
        {"build_type", build_info::build_type}}},
      {"allocator", describe_allocator()},
      {"transactions", transactions()},
      {"memory",
       {{"page_bytes", sysconf(_SC_PAGESIZE)},
        {"transparent_huge_pages", transparent_huge_pages(root)}}},
      {"address_randomisation", address_randomisation(root)},
  };
}

std::string version_of(const std::string& program) {
  return program + " " + ASSAY_VERSION + " (" + std::string(build_info::commit) + ")";
}

}  // namespace assay::host
