#include "assay/subject/subject.h"
#include "rust_map.h"

ASSAY_RUST_MAP(congee)

static const assay::subject::map<rust::map_of_numbers<congee_functions>> registered{
    "congee",
    "Rust's congee: an adaptive radix tree with optimistic locks; its ranges are not atomic",
    "epochs"};
