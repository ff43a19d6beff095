// Ends the program because it cannot be emulated any further, having said why. Allocates nothing.

#ifndef ASSAY_EMULATION_RTM_GIVE_UP_H_
#define ASSAY_EMULATION_RTM_GIVE_UP_H_

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace assay::emulation {

[[noreturn]] inline void give_up(std::string_view why) {
  for (const std::string_view part :
       {std::string_view("assay-rtm: "), why, std::string_view("\n")}) {
    static_cast<void>(::write(STDERR_FILENO, part.data(), part.size()) == 0);
  }
  std::abort();
}

}  // namespace assay::emulation

#endif  // ASSAY_EMULATION_RTM_GIVE_UP_H_
