// What the subjects of bt_map say of it.

#ifndef ASSAY_SUBJECTS_BT_MAP_H_
#define ASSAY_SUBJECTS_BT_MAP_H_

#include <functional>

#include "assay/maps/bt_map.h"
#include "assay/maps/bt_synchronisation.h"
#include "assay/subject/probed_reclaim.h"
#include "assay/subject/subject.h"

template <class K, class Synchronisation>
struct bt_subject_policies : assay::bt_policies<K> {
  using compare = std::less<>;
  using reclaim = assay::probed::epochs;
  using synchronisation = Synchronisation;
};

template <class K, class V, class Policies>
class bt_subject : public assay::bt_map<K, V, Policies> {
 public:
  static constexpr bool ordered = true;
  static constexpr bool range_is_atomic = false;
};

#endif  // ASSAY_SUBJECTS_BT_MAP_H_
