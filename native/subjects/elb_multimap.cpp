#include "assay/maps/elb_multimap.h"

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/subject.h"
#include "elb_layout.h"

template <class K, class V>
using multimap =
    assay::elb_multimap<K, V, assay::probed::hazard_pointers, elb_layout<assay::elb_settings, K>>;
static const assay::bag_subject<multimap> registered{
    "elb_multimap",
    "assay::elb_multimap: the lock-free ELB-tree of Bonnichsen, Karlsson and Probst, reclaiming by "
    "hazard pointers",
    "hazard pointers"};

template <class K, class V>
using in_epochs =
    assay::elb_multimap<K, V, assay::probed::epochs, elb_layout<assay::elb_settings, K>>;
static const assay::bag_subject<in_epochs> registered_epochs{
    "elb_multimap_epochs", "elb_multimap, reclaiming by epochs", "epochs"};

template <class K, class V>
using wide =
    assay::elb_multimap<K, V, assay::probed::hazard_pointers, elb_layout<assay::elb_wide, K>>;
static const assay::bag_subject<wide> registered_wide{
    "elb_multimap_wide", "elb_multimap with nodes of up to 512 entries or 252 children",
    "hazard pointers"};
