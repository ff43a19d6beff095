#include "assay/maps/elb_priority_queue.h"

#include <optional>
#include <utility>

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/subject.h"
#include "elb_layout.h"

template <class K, class V, class Nodes>
using queue_of =
    assay::elb_priority_queue<K, V, assay::probed::hazard_pointers, elb_layout<Nodes, K>>;
template <class K, class V>
using queue = queue_of<K, V, assay::elb_queue_settings>;
static const assay::bag_subject<queue> registered{
    "elb_priority_queue",
    "assay::elb_priority_queue: a lock-free ELB-tree whose leaves are joined late",
    "hazard pointers"};

template <class K, class V>
using narrow_queue = queue_of<K, V, assay::elb_narrow>;
static const assay::bag_subject<narrow_queue> registered_narrow{
    "elb_priority_queue_narrow",
    "elb_priority_queue with nodes of up to 16 entries or children, as in the paper",
    "hazard pointers"};

// A queue of which any entry of the first leaf is popped.
template <class K, class V>
class near_queue : public queue<K, V> {
 public:
  class handle {
   public:
    explicit handle(queue<K, V>& all) : in_(all.attach()) {}
    void push(K key, V value) { in_.push(key, value); }
    [[gnu::always_inline]] std::optional<std::pair<K, V>> try_pop() { return in_.try_pop_near(); }

   private:
    typename queue<K, V>::handle in_;
  };

  handle attach() { return handle(*this); }
};
static const assay::bag_subject<near_queue> registered_near{
    "elb_priority_queue_near",
    "elb_priority_queue that pops one of the lowest, of which there are up to a node's capacity",
    "hazard pointers"};
