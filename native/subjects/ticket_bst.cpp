#include "assay/maps/ticket_bst.h"

#include <cstdint>

#include "assay/reclaim/epochs.h"
#include "assay/reclaim/garbage_sets.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "assay/subject/subject.h"

template <class K, class V>
using ticket_tree = assay::ticket_bst<K, V, assay::reclaim::epochs>;
static const assay::subject_template<ticket_tree> registered{
    "ticket_bst",
    "the external search tree with versioned locks of David, Guerraoui and Trigonakis (BST-TK), "
    "reclaiming by epochs",
    "epochs"};

// For comparison: numbers alone.
class leaking_ticket_tree
    : public assay::ticket_bst<std::uint64_t, std::uint64_t, assay::reclaim::none> {
 public:
  static constexpr bool leaks = true;
};
static const assay::subject<leaking_ticket_tree> registered_leaking{
    "ticket_bst_leaking", "ticket_bst without reclamation: it frees nothing", "never"};

// For comparison: numbers alone.
static const assay::subject<
    assay::ticket_bst<std::uint64_t, std::uint64_t, assay::reclaim::garbage_sets>>
    registered_sets{"ticket_bst_sets", "ticket_bst, reclaiming by sets of garbage as ASCYLIB does",
                    "sets of garbage"};

template <class K, class V>
using hazard_ticket_tree = assay::ticket_bst<K, V, assay::reclaim::hazard_pointers>;
static const assay::subject_template<hazard_ticket_tree> registered_hazard{
    "ticket_bst_hazard", "ticket_bst, reclaiming by hazard pointers", "hazard pointers"};
