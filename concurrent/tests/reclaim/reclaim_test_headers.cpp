// All headers of reclaim and what they include, in a file that must not run code before main().

#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/garbage_sets.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"

namespace assay::reclaim {

template <class Reclaim>
static void use() {
  Reclaim domain;
  domain.join().pin().retire(new int);
}

void use_all() {
  use<epochs>();
  use<garbage_sets>();
  use<hazard_pointers>();
  use<none>();
}

}  // namespace assay::reclaim
