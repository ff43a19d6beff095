#include "assay/host/topology.h"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace assay::host {
namespace {

hwloc_topology_t new_topology() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) {
    throw std::runtime_error("hwloc cannot make a topology");
  }
  return made;
}

void load(hwloc_topology_t loading) {
  if (hwloc_topology_load(loading) != 0) {
    throw std::system_error(errno, std::generic_category(), "hwloc cannot load the topology");
  }
}

}  // namespace

const topology& topology::this_machine() {
  static const topology machine;
  return machine;
}

topology::topology()
    : topology_(new_topology(), &hwloc_topology_destroy),
      allowed_(hwloc_bitmap_alloc(), &hwloc_bitmap_free) {
  // The whole machine, so that its description does not depend on who asks. Left out is what takes
  // time and nobody reads; hwloc leaves out I/O devices by itself. Without DONT_CHANGE_BINDING it
  // would visit every processor to ask its identity.
  hwloc_topology_set_flags(
      get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                 HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS);
  load(get());
  if (hwloc_get_cpubind(get(), allowed_.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "hwloc cannot read this process's binding");
  }
}

topology::topology(const std::string& synthetic, const std::string& allowed)
    : topology_(new_topology(), &hwloc_topology_destroy),
      allowed_(hwloc_bitmap_alloc(), &hwloc_bitmap_free) {
  if (hwloc_topology_set_synthetic(get(), synthetic.c_str()) != 0) {
    throw std::invalid_argument("not a synthetic topology: " + synthetic);
  }
  load(get());
  if (allowed.empty()) {
    hwloc_bitmap_copy(allowed_.get(), hwloc_topology_get_topology_cpuset(get()));
  } else {
    hwloc_bitmap_list_sscanf(allowed_.get(), allowed.c_str());
  }
}

std::vector<unsigned> to_vector(hwloc_const_bitmap_t bitmap) {
  std::vector<unsigned> numbers;
  for (int i = hwloc_bitmap_first(bitmap); i >= 0; i = hwloc_bitmap_next(bitmap, i)) {
    numbers.push_back(static_cast<unsigned>(i));
  }
  return numbers;
}

std::string to_string(hwloc_const_bitmap_t bitmap) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, bitmap) < 0) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return text;
}

}  // namespace assay::host
