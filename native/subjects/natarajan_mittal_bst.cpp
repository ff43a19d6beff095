#include "assay/maps/natarajan_mittal_bst.h"

#include <cstdint>

#include "assay/reclaim/epochs.h"
#include "assay/reclaim/garbage_sets.h"
#include "assay/reclaim/none.h"
#include "assay/subject/subject.h"
#include "natarajan_mittal_bst_as_published.h"

template <class K, class V>
using lock_free_tree = assay::natarajan_mittal_bst<K, V, assay::reclaim::epochs>;
static const assay::subject_template<lock_free_tree> registered{
    "natarajan_mittal_bst",
    "the lock-free external search tree of Natarajan and Mittal, reclaiming by epochs", "epochs"};

// For comparison: numbers alone.
class leaking_lock_free_tree
    : public assay::natarajan_mittal_bst<std::uint64_t, std::uint64_t, assay::reclaim::none> {
 public:
  static constexpr bool leaks = true;
};
static const assay::subject<leaking_lock_free_tree> registered_leaking{
    "natarajan_mittal_bst_leaking", "natarajan_mittal_bst without reclamation: it frees nothing",
    "never"};

// For comparison: numbers alone.
static const assay::subject<
    assay::natarajan_mittal_bst<std::uint64_t, std::uint64_t, assay::reclaim::garbage_sets>>
    registered_sets{"natarajan_mittal_bst_sets",
                    "natarajan_mittal_bst, reclaiming by sets of garbage as ASCYLIB does",
                    "sets of garbage"};

// assay-flawed has it as natarajan_leaks, where it does not say that it leaks.
template <class K, class V>
class tree_as_published : public assay::subjects::natarajan_mittal_bst_as_published<K, V> {
 public:
  static constexpr bool leaks = true;
};
static const assay::subject_template<tree_as_published, std::uint64_t> registered_as_published{
    "natarajan_mittal_bst_as_published",
    "natarajan_mittal_bst where an erase retires its own two nodes only, "
    "and leaks the rest of what "
    "it removes",
    "epochs, in part never"};
