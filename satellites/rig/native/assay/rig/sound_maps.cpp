// assay-rig-sound: maps of different kinds that nothing is wrong with, through the rig.

#include "assay/rig/sound_maps.h"

#include "assay/subject/subject.h"

namespace assay::rig {
namespace {

const subject::map<sound_mutex> locked{"sound_mutex", "std::map and a mutex"};
const subject::map<sound_shared> shared{"sound_shared", "std::map and a lock that searches share"};
const subject::map<sound_ordered> ordered{"sound_ordered",
                                          "the same with operations over many keys"};
const subject::map<sound_striped> striped{"sound_striped", "seven maps, each with a mutex"};
const subject::map<sound_list> list{"sound_list", "a lock-free sorted list"};
const subject::map<sound_table> table{"sound_table",
                                      "a table that grows, with a mutex for each chain"};

}  // namespace
}  // namespace assay::rig
