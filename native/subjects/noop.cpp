#include "noop.h"

#include "assay/trial/subject.h"

static const assay::trial::subject<noop> registered{"noop",
                                                    "no map at all: the trial loop's floor"};
