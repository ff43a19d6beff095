#include <cstdint>

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/probed_trees.h"
#include "assay/subject/subject.h"
#include "natarajan_mittal_bst_as_published.h"

template <class K, class V>
using lock_free_tree = assay::probed::natarajan_mittal_bst<K, V, assay::probed::epochs>;
static const assay::subject::map_template<lock_free_tree> registered{
    "natarajan_mittal_bst",
    "the lock-free external search tree of Natarajan and Mittal, reclaiming by epochs", "epochs"};

// For comparison: numbers alone.
class leaking_lock_free_tree
    : public assay::probed::natarajan_mittal_bst<std::uint64_t, std::uint64_t,
                                                 assay::probed::none> {
 public:
  static constexpr bool leaks = true;
};
static const assay::subject::map<leaking_lock_free_tree> registered_leaking{
    "natarajan_mittal_bst_leaking", "natarajan_mittal_bst without reclamation: it frees nothing",
    "never"};

// For comparison: numbers alone.
static const assay::subject::map<
    assay::probed::natarajan_mittal_bst<std::uint64_t, std::uint64_t, assay::probed::garbage_sets>>
    registered_sets{"natarajan_mittal_bst_sets",
                    "natarajan_mittal_bst, reclaiming by sets of garbage as ASCYLIB does",
                    "sets of garbage"};

// assay-flawed has it as natarajan_leaks, where it does not say that it leaks.
template <class K, class V>
class tree_as_published : public assay::subjects::natarajan_mittal_bst_as_published<K, V> {
 public:
  static constexpr bool leaks = true;
};
static const assay::subject::map_template<tree_as_published, std::uint64_t> registered_as_published{
    "natarajan_mittal_bst_as_published",
    "natarajan_mittal_bst where an erase retires its own two nodes only, "
    "and leaks the rest of what "
    "it removes",
    "epochs, in part never"};
