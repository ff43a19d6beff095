// Which malloc serves this process. The dynamic linker puts an allocator under a program
// (LD_PRELOAD), and goes on without it if it cannot load it. So that an allocator was asked for
// does not mean that it is there: the linker is asked where malloc is.

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

// Throws std::invalid_argument, which names the present allocator, if malloc is not `name`'s.
void require_allocator(std::string_view name);

}  // namespace assay::host

#endif  // ASSAY_HOST_ALLOCATOR_H_
