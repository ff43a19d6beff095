// A map that was built for finding mistakes: without optimisation, and with assertions.

#ifndef ASSAY_FLAWED_MODES_DEBUG_BUILD_H_
#define ASSAY_FLAWED_MODES_DEBUG_BUILD_H_

#include "assay/subject/subject.h"

namespace assay::flawed {

// The map and the loop over it as a debug build has them, under the name of std_map_mutex. They are
// those of std_map_mutex but for keys and values, which are numbers of 64 bits alone.
[[nodiscard]] const subject::subject_entry& debug_build();

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_MODES_DEBUG_BUILD_H_
