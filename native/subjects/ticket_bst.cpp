#include <cstdint>

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/probed_trees.h"
#include "assay/subject/subject.h"

template <class K, class V>
using ticket_tree = assay::probed::ticket_bst<K, V, assay::probed::epochs>;
static const assay::subject::map_template<ticket_tree> registered{
    "ticket_bst",
    "the external search tree with versioned locks of David, Guerraoui and Trigonakis (BST-TK), "
    "reclaiming by epochs",
    "epochs"};

// For comparison: numbers alone.
class leaking_ticket_tree
    : public assay::probed::ticket_bst<std::uint64_t, std::uint64_t, assay::probed::none> {
 public:
  static constexpr bool leaks = true;
};
static const assay::subject::map<leaking_ticket_tree> registered_leaking{
    "ticket_bst_leaking", "ticket_bst without reclamation: it frees nothing", "never"};

// For comparison: numbers alone.
static const assay::subject::map<
    assay::probed::ticket_bst<std::uint64_t, std::uint64_t, assay::probed::garbage_sets>>
    registered_sets{"ticket_bst_sets", "ticket_bst, reclaiming by sets of garbage as ASCYLIB does",
                    "sets of garbage"};

template <class K, class V>
using hazard_ticket_tree = assay::probed::ticket_bst<K, V, assay::probed::hazard_pointers>;
static const assay::subject::map_template<hazard_ticket_tree> registered_hazard{
    "ticket_bst_hazard", "ticket_bst, reclaiming by hazard pointers", "hazard pointers"};
