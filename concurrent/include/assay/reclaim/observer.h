// Who counts what a reclamation policy does? Nobody, unless its settings name an observer:
//
//     struct my_counters : assay::reclaim::no_observer {
//       static void retired() noexcept { ... }
//     };
//     struct counted : assay::reclaim::epochs_settings {
//       using observer = my_counters;
//     };
//     assay::reclaim::basic_epochs<counted> domain;
//
// The policy calls the observer's functions while it works, on the thread that works. They are
// wait-free, throw nothing and call nothing of the policy. Those of `no_observer` are empty and
// cost nothing.

#ifndef ASSAY_RECLAIM_OBSERVER_H_
#define ASSAY_RECLAIM_OBSERVER_H_

#include <cstdint>

namespace assay::reclaim {

struct no_observer {
  // A node was retired.
  static void retired() noexcept {}
  // This many retired nodes were freed. Nodes that wait until their domain is destroyed are not
  // among them, nor those that another node's destructor deletes.
  static void freed(std::uint64_t /*nodes*/) noexcept {}
  // A thread looked at the others, and this many nodes of the domain waited to be freed.
  static void waiting(std::uint64_t /*nodes*/) noexcept {}
  // This many nodes became ready to be freed at once.
  static void batch(std::uint64_t /*nodes*/) noexcept {}
};

}  // namespace assay::reclaim

#endif  // ASSAY_RECLAIM_OBSERVER_H_
