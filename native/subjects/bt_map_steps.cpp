// bt_map with other layouts, from the thesis's to its own, so that it shows what each part gains:
// experiments/bt-layout-steps.toml.

#include <cstddef>
#include <cstdint>

#include "assay/base/instruction_set.h"
#include "bt_map.h"

template <class Synchronisation, class Layout>
struct policies : bt_subject_policies<std::uint64_t, Synchronisation> {
  using layout = Layout;
  static constexpr std::size_t leaf_capacity = Layout::leaf_capacity;
  static constexpr std::size_t internal_capacity = Layout::internal_capacity;
};
template <class Synchronisation, class Layout>
using numbers = bt_subject<std::uint64_t, std::uint64_t, policies<Synchronisation, Layout>>;

using set = assay::host::instruction_set;

struct thesis {
  static constexpr std::size_t leaf_capacity = 32;
  static constexpr std::size_t internal_capacity = 32;
  static constexpr bool fingerprints = false;
  static constexpr bool homes = false;
  static constexpr bool keeps_leaves_full = false;
  static constexpr bool fetches_to_write = false;
  static constexpr set most_instructions = set::scalar;
};
struct with_vectors : thesis {
  static constexpr set most_instructions = set::avx512;
};
struct with_fingerprints : with_vectors {
  static constexpr bool fingerprints = true;
};
struct with_homes : with_fingerprints {
  static constexpr bool homes = true;
};
struct with_own_capacities : with_homes {
  static constexpr std::size_t leaf_capacity = assay::bt_policies<std::uint64_t>::leaf_capacity;
  static constexpr std::size_t internal_capacity =
      assay::bt_policies<std::uint64_t>::internal_capacity;
};
struct with_full_leaves : with_own_capacities {
  static constexpr bool keeps_leaves_full = true;
};
struct with_fetches : with_full_leaves {
  static constexpr bool fetches_to_write = true;
};

namespace subject = assay::subject;
using assay::bt::optimistic;
using assay::bt::optimistic_replacing;

static const subject::map<numbers<optimistic_replacing, thesis>> step_0{
    "bt_map_step_0", "bt_map as the thesis lays it out, 32 and 32, with optimistic locks",
    "epochs"};
static const subject::map<numbers<optimistic, thesis>> step_1{
    "bt_map_step_1", "bt_map_step_0 that changes parents where they are", "epochs"};
static const subject::map<numbers<optimistic, with_vectors>> step_2{
    "bt_map_step_2", "bt_map_step_1 with internal nodes searched by vector instructions", "epochs"};
static const subject::map<numbers<optimistic, with_fingerprints>> step_3{
    "bt_map_step_3", "bt_map_step_2 with leaves searched by fingerprints", "epochs"};
static const subject::map<numbers<optimistic, with_homes>> step_4{
    "bt_map_step_4", "bt_map_step_3 with elements in the line that their hash names", "epochs"};
static const subject::map<numbers<optimistic, with_own_capacities>> step_5{
    "bt_map_step_5", "bt_map_step_4 with leaves of 44 elements and internal nodes of 23 children",
    "epochs"};
static const subject::map<numbers<optimistic, with_full_leaves>> step_6{
    "bt_map_step_6", "bt_map_step_5 that keeps leaves full", "epochs"};
static const subject::map<numbers<optimistic, with_fetches>> step_7{
    "bt_map_step_7", "bt_map_step_6 that fetches leaves to write to them: bt_map", "epochs"};
