// Runs a program in a sandbox that refuses membarrier(2), so that it finds it refused as it starts:
//
//     without_membarrier build/release/bin/reclaim_test

#include <unistd.h>

#include <cstdio>

#include "tests/base/asymmetric_fence_test_sandbox.h"

namespace {
constexpr int skipped = 77;
}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: without_membarrier PROGRAM [ARGUMENT...]\n", stderr);
    return 2;
  }
  if (!assay::sync::refuse_membarrier()) {
    std::puts("skipped: system calls cannot be filtered here");
    return skipped;
  }
  execv(arguments[1], arguments + 1);
  std::perror(arguments[1]);
  return 1;
}
