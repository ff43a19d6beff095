// An insert that does not return and takes 1 MiB of memory every 10 ms. It ends by the limit on
// memory or on time, whichever comes first: slowly enough that no machine runs out of memory before
// a time limit of some seconds.

#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include "flawed_map.h"

namespace assay::flawed {

class leaks : public flawed_map<leaks> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_()) {
      for (;;) {
        {
          const std::scoped_lock lock(mutex);
          never_freed_.emplace_back(mebibyte, 'x');
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    return sound_map::insert(key, value);
  }

 private:
  static constexpr std::size_t mebibyte = std::size_t{1} << 20;
  std::deque<std::string> never_freed_;
};

static const trial::subject<leaks> registered{"leaks", "allocates without end"};

}  // namespace assay::flawed
