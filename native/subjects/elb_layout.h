// How ELB-trees keep the entries of trials.

#ifndef ASSAY_SUBJECTS_ELB_LAYOUT_H_
#define ASSAY_SUBJECTS_ELB_LAYOUT_H_

#include <cstdint>
#include <type_traits>

#include "assay/maps/elb_tree.h"

// Entries of numbers of 32 bits are words of 64, with keys of 31 (Bonnichsen 2016, listing 5.3);
// those of numbers of 64 bits are words of 128, with values of 63.
template <class Nodes, class Number>
struct elb_layout : Nodes {
  static constexpr bool is_short = std::is_same_v<Number, std::uint32_t>;
  static constexpr unsigned key_bits = is_short ? 31 : 64;
  static constexpr unsigned value_bits = is_short ? 32 : 63;
};

#endif  // ASSAY_SUBJECTS_ELB_LAYOUT_H_
