#include "assay/probe/probe_test_shared.h"

void count_in_other_file() {
  inline_in_header.add(10);
  static_in_header.add(10);
  instrumented<long>::visit();
}
