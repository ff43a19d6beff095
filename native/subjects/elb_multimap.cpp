#include "assay/maps/elb_multimap.h"

#include <optional>
#include <utility>

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/subject.h"
#include "elb_layout.h"

// A trial gives each value out once, so that an insert need not look whether its pair is there.
template <class K, class V, class Reclaim, class Nodes>
class multimap_of : public assay::elb_multimap<K, V, Reclaim, elb_layout<Nodes, K>> {
  using base = assay::elb_multimap<K, V, Reclaim, elb_layout<Nodes, K>>;

 public:
  class handle {
   public:
    explicit handle(base& all) : in_(all.attach()) {}
    void insert(K key, V value) { in_.insert_new(key, value); }
    [[gnu::always_inline]] std::optional<V> find(K key) { return in_.find(key); }
    [[gnu::always_inline]] std::optional<std::pair<K, V>> erase_from(K key) {
      return in_.erase_from(key);
    }

   private:
    typename base::handle in_;
  };

  handle attach() { return handle(*this); }
};

template <class K, class V>
using multimap = multimap_of<K, V, assay::probed::hazard_pointers, assay::elb_settings>;
static const assay::subject::bag<multimap> registered{
    "elb_multimap",
    "assay::elb_multimap: the lock-free ELB-tree of Bonnichsen, Karlsson and Probst, reclaiming by "
    "hazard pointers",
    "hazard pointers"};

template <class K, class V>
using in_epochs = multimap_of<K, V, assay::probed::epochs, assay::elb_settings>;
static const assay::subject::bag<in_epochs> registered_epochs{
    "elb_multimap_epochs", "elb_multimap, reclaiming by epochs", "epochs"};

template <class K, class V>
using wide = multimap_of<K, V, assay::probed::hazard_pointers, assay::elb_wide>;
static const assay::subject::bag<wide> registered_wide{
    "elb_multimap_wide", "elb_multimap with nodes of up to 512 entries or 252 children",
    "hazard pointers"};
