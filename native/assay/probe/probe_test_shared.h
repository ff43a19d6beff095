// Probes that two files of the test declare by including this.

#ifndef ASSAY_PROBE_PROBE_TEST_SHARED_H_
#define ASSAY_PROBE_PROBE_TEST_SHARED_H_

#include "assay/probe/probe.h"

inline assay::probe::counter inline_in_header{"inline_in_header", "in both files"};
static assay::probe::counter static_in_header{"static_in_header", "in both files"};

template <class Key>
struct instrumented {
  inline static assay::probe::counter visits{"visits", "of every instance"};
  static void visit() { visits.add(); }
};

// In the other file.
void count_in_other_file();

#endif  // ASSAY_PROBE_PROBE_TEST_SHARED_H_
