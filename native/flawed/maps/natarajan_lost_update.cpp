// The walk meets other keys than the answers imply.

#include "natarajan_lost_update.h"

#include <cstdint>

#include "assay/trial/subject.h"

namespace assay::flawed {

static const trial::subject<natarajan_lost_update<std::uint64_t, std::uint64_t>> registered{
    "natarajan_lost_update", "loses an update beside an erase now and then"};

}  // namespace assay::flawed
