// A library that is loaded into a trial's process and locks its memory before main() begins, as a
// lock does not survive the exec that starts a program. Also what it maps later is locked.

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

[[gnu::constructor]] void lock_memory() {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0) return;
  const char* why = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): there is one thread
  std::fprintf(stderr,
               "memory_locked: memory cannot be locked: %s; allow it with memlock in "
               "/etc/security/limits.conf or run as root\n",
               why);
  _exit(1);
}

}  // namespace
