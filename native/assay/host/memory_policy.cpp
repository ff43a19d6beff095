#include "assay/host/memory_policy.h"

#include <hwloc.h>

#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "assay/host/topology.h"

namespace assay::host {
namespace {

constexpr int of_this_thread = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;

const char* name(hwloc_membind_policy_t policy) {
  switch (policy) {
    case HWLOC_MEMBIND_FIRSTTOUCH:
      return "local";
    case HWLOC_MEMBIND_INTERLEAVE:
      return "interleave";
    case HWLOC_MEMBIND_BIND:
      return "bind";
    default:
      return "mixed";
  }
}

}  // namespace

void bind_memory(memory_policy policy) {
  const hwloc_membind_policy_t asked =
      policy == memory_policy::local ? HWLOC_MEMBIND_FIRSTTOUCH : HWLOC_MEMBIND_INTERLEAVE;
  hwloc_topology* const machine = topology::this_machine().get();
  if (hwloc_set_membind(machine, hwloc_topology_get_allowed_nodeset(machine), asked,
                        of_this_thread) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            std::string("memory cannot be placed by the policy ") + name(asked));
  }
  if (const std::string found = memory_policy_in_use(); found != name(asked)) {
    throw std::runtime_error(std::string("memory was to be placed by the policy ") + name(asked) +
                             ", but the operating system says " + found);
  }
}

std::string memory_policy_in_use() {
  const std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, decltype(&hwloc_bitmap_free)> nodes(
      hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (nodes == nullptr) throw std::bad_alloc();
  hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
  if (hwloc_get_membind(topology::this_machine().get(), nodes.get(), &policy, of_this_thread) !=
      0) {
    throw std::system_error(errno, std::generic_category(),
                            "the operating system does not tell how memory is placed");
  }
  return name(policy);
}

}  // namespace assay::host
