// What the machine is made of, as hwloc sees it, and which of it this process may use.
//
// Internal to assay/host: users want placement.h (where threads run) or environment.h (a
// description).

#ifndef ASSAY_HOST_TOPOLOGY_H_
#define ASSAY_HOST_TOPOLOGY_H_

#include <hwloc.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace assay::host {

class topology {
 public:
  // This machine, and the processors that this process was bound to when first asked; loaded once
  // (1.5 ms).
  static const topology& this_machine();

  // A made-up machine in hwloc's synthetic notation ("package:2 core:4 pu:2"). Only its processors
  // in `allowed` (hwloc's list notation, "0-3,8") may be used; all of them if `allowed` is empty.
  explicit topology(const std::string& synthetic, const std::string& allowed = "");

  hwloc_topology_t get() const { return topology_.get(); }

  // The processors that this process may use: its own binding, which control groups limit too.
  hwloc_const_bitmap_t allowed() const { return allowed_.get(); }

 private:
  topology();

  std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>
      topology_;
  std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, decltype(&hwloc_bitmap_free)> allowed_;
};

// The numbers in a bitmap, ascending.
std::vector<unsigned> to_vector(hwloc_const_bitmap_t bitmap);

// The numbers in a bitmap as a list such as "0-3,8".
std::string to_string(hwloc_const_bitmap_t bitmap);

}  // namespace assay::host

#endif  // ASSAY_HOST_TOPOLOGY_H_
