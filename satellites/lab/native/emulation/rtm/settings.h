// How transactions are emulated: what assay-rtm was asked for, handed on in the environment.

#ifndef ASSAY_EMULATION_RTM_SETTINGS_H_
#define ASSAY_EMULATION_RTM_SETTINGS_H_

#include <cstdint>
#include <string>

namespace assay::emulation {

// The one variable that the library reads: what to_text() gave.
inline constexpr const char* settings_variable = "ASSAY_RTM_SETTINGS";

struct settings {
  // The cache that keeps what transactions write, in lines of 64 bytes: as the L1 of processors
  // that have RTM. Lines that they only read may be `read_ways` in each set, as these may leave the
  // L1.
  unsigned sets = 64;
  unsigned ways = 8;
  unsigned read_ways = 128;
  double abort_percent = 0;  // of all transactions, whatever they do
  std::uint64_t seed = 1;    // of which these are
  bool json = false;
  // The processor executes XBEGIN itself: it is replaced in the program's code by what raises
  // SIGILL.
  bool replaces_begins = false;
  std::string record;  // the file that is told of all transactions (record.h), or none

  [[nodiscard]] std::string to_text() const;
  // Parses what to_text() wrote; the defaults if there is no text.
  [[nodiscard]] static settings parse(const char* text);
};

}  // namespace assay::emulation

#endif  // ASSAY_EMULATION_RTM_SETTINGS_H_
