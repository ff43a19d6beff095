// Still finds a key now and then that was erased. The map holds what it should; only searches for
// what a walk has not met tell.

#include <map>
#include <optional>

#include "flawed_map.h"

namespace assay::flawed {

class finds_erased : public flawed_map<finds_erased> {
 public:
  bool erase(std::uint64_t key) {
    const std::scoped_lock lock(mutex);
    const auto element = elements.extract(key);
    if (element && now_and_then_()) ghosts_.emplace(key, element.mapped());
    return !element.empty();
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    if (const auto found = sound_map::find(key)) return found;
    const std::scoped_lock lock(mutex);
    const auto ghost = ghosts_.find(key);
    return ghost == ghosts_.end() ? std::nullopt : std::optional(ghost->second);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ghosts_;
};

static const trial::subject<finds_erased> registered{"finds_erased",
                                                     "still finds an erased key now and then"};

}  // namespace assay::flawed
