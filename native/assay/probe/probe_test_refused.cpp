// A declaration that must not compile, in DECLARATION.

#include "assay/probe/probe.h"

using namespace assay::probe;
static DECLARATION;
