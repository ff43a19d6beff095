// What a program was asked for and cannot do.

#ifndef ASSAY_INPUT_BAD_REQUEST_H_
#define ASSAY_INPUT_BAD_REQUEST_H_

#include <stdexcept>

namespace assay {

// The message is one line that names the key at fault. A type of its own, as a map may throw any of
// the standard library's.
class bad_request : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

}  // namespace assay

#endif  // ASSAY_INPUT_BAD_REQUEST_H_
