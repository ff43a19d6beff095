#include "noop.h"

#include "assay/trial/subject.h"

static const assay::trial::subject_template<noop_of> registered{
    "noop", "no map at all: the trial loop's floor"};
