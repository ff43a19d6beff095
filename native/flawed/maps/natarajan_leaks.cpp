// Finds nothing wrong with its answers; what grows is its memory.

#include "natarajan_leaks.h"

#include <cstdint>

#include "assay/trial/subject.h"

namespace assay::flawed {

static const trial::subject<natarajan_leaks<std::uint64_t, std::uint64_t>> registered{
    "natarajan_leaks", "leaks what several erases of neighbours remove at once"};

}  // namespace assay::flawed
