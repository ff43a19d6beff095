// Searches find nothing. The map holds what it should; only searches for what a walk has met tell.

#include <optional>

#include "flawed_map.h"

namespace assay::flawed {

class never_finds : public flawed_map<never_finds> {
 public:
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
};

static const trial::subject<never_finds> registered{"never_finds", "finds no key at all"};

}  // namespace assay::flawed
