// Throws now and then, which no operation of a map may. The program ends with an error and no
// result.

#include <stdexcept>

#include "flawed_map.h"

namespace assay::flawed {

class throws : public flawed_map<throws> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_()) throw std::runtime_error("insert failed on purpose");
    return sound_map::insert(key, value);
  }
};

static const trial::subject<throws> registered{"throws", "throws an exception now and then"};

}  // namespace assay::flawed
