// Finds nothing wrong with its answers; what grows is its memory. The same map as the subject
// `natarajan_mittal_bst_as_published` of assay-trial, here under the name of what is wrong with it.

#include <cstdint>

#include "assay/trial/subject.h"
#include "subjects/natarajan_mittal_bst_as_published.h"

namespace assay::flawed {

static const trial::subject<
    subjects::natarajan_mittal_bst_as_published<std::uint64_t, std::uint64_t>>
    registered{"natarajan_leaks",
               "natarajan_mittal_bst_as_published: leaks what several erases of neighbours remove "
               "at once"};

}  // namespace assay::flawed
