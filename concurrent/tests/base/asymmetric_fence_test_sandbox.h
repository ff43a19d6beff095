// What does a program do where membarrier(2) is not to be had? Tests of that take it from
// themselves:
//
//     if (!assay::sync::refuse_membarrier()) return skipped;
//
// by a filter of system calls, as sandboxes use them. It holds for the calling thread, for those
// that it starts, and for the programs that it becomes.

#ifndef TESTS_BASE_ASYMMETRIC_FENCE_TEST_SANDBOX_H_
#define TESTS_BASE_ASYMMETRIC_FENCE_TEST_SANDBOX_H_

#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace assay::sync {

// Returns whether membarrier is refused from now on, with EPERM. False where filters are not to be
// had.
inline bool refuse_membarrier() {
  // A native program: its numbers of system calls are those of the headers.
  std::array<sock_filter, 4> filter{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_membarrier},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return false;
  }
  return syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) == -1 && errno == EPERM;
}

}  // namespace assay::sync

#endif  // TESTS_BASE_ASYMMETRIC_FENCE_TEST_SANDBOX_H_
