// Natarajan and Mittal's tree with the memory reclamation that its paper sketches: the thread that
// removes a chain retires the parent and the leaf of its own erase, and what else was in the chain
// is never freed (Kharal and Brown 2022, section 5). Of a chain of n erases that is n - 1 leaves
// and as many internal nodes. It takes two erases of neighbours at the same time, so that a single
// thread leaks nothing; all answers are right.
//
// One map with two names: `natarajan_mittal_bst_as_published` among the subjects that are measured,
// and `natarajan_leaks` among the flawed maps (native/flawed/maps), which checks must see through.

#ifndef ASSAY_SUBJECTS_NATARAJAN_MITTAL_BST_AS_PUBLISHED_H_
#define ASSAY_SUBJECTS_NATARAJAN_MITTAL_BST_AS_PUBLISHED_H_

#include <functional>

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/probed_trees.h"
// natarajan_mittal_bst.h, changed in one place: see CMakeLists.txt.
#include "natarajan_mittal_as_published.h"

namespace assay::subjects {

template <class K, class V>
using natarajan_mittal_bst_as_published =
    mistaken::natarajan_mittal_as_published::natarajan_mittal_bst<
        K, V, probed::epochs, std::less<K>, probed::natarajan_mittal_probes>;

}  // namespace assay::subjects

#endif  // ASSAY_SUBJECTS_NATARAJAN_MITTAL_BST_AS_PUBLISHED_H_
