#include "assay/maps/ticket_bst.h"

#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "assay/trial/subject.h"

template <class K, class V>
using ticket_tree = assay::ticket_bst<K, V, assay::reclaim::epochs>;
static const assay::trial::subject_template<ticket_tree> registered{
    "ticket_bst",
    "the external search tree with versioned locks of David, Guerraoui and Trigonakis (BST-TK), "
    "reclaiming by epochs"};

template <class K, class V>
class leaking_ticket_tree : public assay::ticket_bst<K, V, assay::reclaim::none> {
 public:
  static constexpr bool leaks = true;
};
static const assay::trial::subject_template<leaking_ticket_tree> registered_leaking{
    "ticket_bst_leaking", "ticket_bst without reclamation: it frees nothing"};

template <class K, class V>
using hazard_ticket_tree = assay::ticket_bst<K, V, assay::reclaim::hazard_pointers>;
static const assay::trial::subject_template<hazard_ticket_tree> registered_hazard{
    "ticket_bst_hazard", "ticket_bst, reclaiming by hazard pointers"};
