#include "noop.h"

#include "assay/subject/subject.h"

static const assay::subject::map_template<noop_of> registered{
    "noop", "no map at all: the trial loop's floor", "nothing"};
