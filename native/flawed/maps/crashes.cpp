// Writes to address 0 now and then. The process dies of a segmentation fault.

#include "flawed_map.h"

namespace assay::flawed {

class crashes : public flawed_map<crashes> {
 public:
  // Not caught by a sanitizer, so that it dies of the same signal in every build.
  __attribute__((no_sanitize("undefined"))) bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_()) {
      volatile std::uint64_t* volatile nowhere = nullptr;  // volatile: the compiler must not know
      *nowhere = value;  // NOLINT(clang-analyzer-core.NullDereference): on purpose
    }
    return sound_map::insert(key, value);
  }
};

static const trial::subject<crashes> registered{"crashes", "writes to address 0 now and then"};

}  // namespace assay::flawed
