// The lock-free search tree of Natarajan and Mittal with one step replaced, in two ways.

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "assay/base/atomics.h"
#include "assay/base/point.h"
#include "assay/maps/external_tree.h"
#include "assay/subject/probed_reclaim.h"
#include "assay/subject/probed_trees.h"
#include "flawed_map.h"
#include "subjects/natarajan_mittal_bst_as_published.h"

namespace assay::flawed {

// Natarajan and Mittal's tree where an erase reads where the sibling's edge leads before it tags
// that edge. What another thread changes in between is overwritten: an insert below is lost, or the
// mark of an erase. The walk meets other keys than the answers imply.
//
// What is known: Kharal and Brown (2022, section 4.5.4) report of Synchrobench's version, and of
// the original, that nodes which were modified are not always updated correctly in the tree, and
// that the sums of keys of trials did not agree. They do not say which step goes wrong. The version
// that corrects it, Setbench's, says in its source that the original's edges were plain words, and
// not volatile.
//
// What is ours: the choice of this step. The authors' code, as Synchrobench has it
// (lfbstree/wfrbt.h, SetBit), tags the edge by an instruction in assembler that does not tell the
// compiler that it changes memory, and reads the edge in the next statement; of a plain word, the
// compiler may do that first. Here the mistake is written out, whatever the compiler does.
static external_tree::edge tag_too_late(external_tree::atomic_edge& sibling,
                                        external_tree::edge tag) {
  const external_tree::edge read_too_early = sibling.load(memory_order_acquire);
  ASSAY_POINT("natarajan_lost_update_after_reading");
  // Now and then as if it were preempted here: two threads rarely meet within a few instructions.
  static now_and_then preempted;
  if (preempted()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  sibling.fetch_or(tag, memory_order_acq_rel);
  return read_too_early;
}

}  // namespace assay::flawed

// natarajan_mittal_bst.h, which calls tag_too_late(): see CMakeLists.txt.
#include "natarajan_lost_update.h"

namespace assay::flawed {

// Without reclamation: nodes that come back to life must not have been freed.
template <class K, class V>
using natarajan_lost_update =
    mistaken::natarajan_lost_update::natarajan_mittal_bst<K, V, probed::none, std::less<K>,
                                                          probed::natarajan_mittal_probes>;

static const subject::map<natarajan_lost_update<std::uint64_t, std::uint64_t>>
    registered_natarajan_lost_update{"natarajan_lost_update",
                                     "loses an update beside an erase now and then"};

// Finds nothing wrong with its answers; what grows is its memory. The same map as the subject
// `natarajan_mittal_bst_as_published` of assay-trial, here under the name of what is wrong with it.
static const subject::map<subjects::natarajan_mittal_bst_as_published<std::uint64_t, std::uint64_t>>
    registered_natarajan_leaks{
        "natarajan_leaks",
        "natarajan_mittal_bst_as_published: leaks what several erases of neighbours remove "
        "at once"};

}  // namespace assay::flawed
