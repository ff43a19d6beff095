// How the file that includes this is compiled. The loop that measures a map is a template, compiled
// with the map: its compiler and options may differ from those of Assay's own libraries.

#ifndef ASSAY_HOST_COMPILED_AS_H_
#define ASSAY_HOST_COMPILED_AS_H_

#include "assay/base/sanitizers.h"

namespace assay::host {

struct compilation {
  const char* compiler = "";  // with its version
  bool optimised = false;
  bool assertions = false;  // those of <cassert>
  bool address_sanitizer = false;
  bool thread_sanitizer = false;
};

// Static and consteval, so that each file has its own: the linker would keep one for all of them.
[[maybe_unused]] static consteval compilation compiled_as() {
  compilation found;
#if defined(__clang__)
  found.compiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
  found.compiler = "GNU " __VERSION__;
#endif
#if defined(__OPTIMIZE__)
  found.optimised = true;
#endif
#if !defined(NDEBUG)
  found.assertions = true;
#endif
  found.address_sanitizer = ASSAY_ADDRESS_SANITIZER;
  found.thread_sanitizer = ASSAY_THREAD_SANITIZER;
  return found;
}

}  // namespace assay::host

#endif  // ASSAY_HOST_COMPILED_AS_H_
