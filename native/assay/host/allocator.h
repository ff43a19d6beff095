// Which malloc serves this process. An allocator is put under a program by the dynamic linker
// (LD_PRELOAD), which goes on without it where it cannot load it: that one was asked for does not
// say that it is there. So the linker is asked where malloc is.

#ifndef ASSAY_HOST_ALLOCATOR_H_
#define ASSAY_HOST_ALLOCATOR_H_

#include <string>
#include <string_view>

namespace assay::host {

struct allocator {
  std::string name;     // glibc, jemalloc, mimalloc or tcmalloc; of any other the library's path
  std::string version;  // empty where it does not tell
  std::string library;  // path of the file that malloc is in
};

// The allocator behind malloc. One that is loaded but does not serve malloc does not count.
// Throws std::runtime_error if the dynamic linker does not know.
[[nodiscard]] allocator allocator_in_use();

// Throws std::invalid_argument, with what is there instead, if malloc is not that of `name`.
void require_allocator(std::string_view name);

}  // namespace assay::host

#endif  // ASSAY_HOST_ALLOCATOR_H_
