// What the keys and values of a trial are.
//
// Operations are drawn as numbers below 2^63. A map of another type of key or value gets them
// translated, and what it gives back is translated again and compared.

#ifndef ASSAY_TRIAL_DATUM_H_
#define ASSAY_TRIAL_DATUM_H_

#include <cstdint>

namespace assay::trial {

// What keys or values are: numbers, or byte strings of `least` to `most` bytes.
struct datum {
  enum class kind { uint64, uint32, bytes };
  datum::kind type = kind::uint64;
  std::uint32_t least = 8;
  std::uint32_t most = 8;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_DATUM_H_
