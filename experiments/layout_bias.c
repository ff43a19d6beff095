/* Two programs that do the same and differ only in where a hot loop and its data fall (layout-bias.toml).

   The loop calls 24 functions, each 256 bytes of code with a table of 256 bytes: 6 KiB of code and as much data. Beside
   each are 3840 bytes of code that never runs, and of data that are never read. Compiled with -DSCATTERED these stand after
   each function, so that all hot ones begin a multiple of 4 KiB apart: they share two places of a direct-mapped cache of
   8 KiB, and the 8 ways of a few sets of a usual one. Otherwise they stand at the end, and the loop fits into either.
   -fno-toplevel-reorder keeps that order in the object, and a linker keeps it unless it is told otherwise. */
#include <stdio.h>
#include <stdlib.h>

/* 75 instructions of 3 bytes that wait for nothing, so that fetching them is what takes the time; and a read of each
   line of the table. */
#define HOT(n)                                                                                   \
  int table_##n[64] __attribute__((aligned(32))) = {n + 1};                                      \
  __attribute__((noinline, aligned(32))) unsigned hot_##n(unsigned sum) {                        \
    __asm__ volatile(".rept 75; nopl (%rax); .endr");                                            \
    for (int line = 0; line != 64; line += 8) sum += (unsigned)((volatile int*)table_##n)[line]; \
    return sum;                                                                                  \
  }
#define COLD(n)                                                                  \
  int unread_##n[960] __attribute__((aligned(32))) = {n + 1};                    \
  __attribute__((noinline, aligned(32), used)) unsigned cold_##n(unsigned sum) { \
    __asm__ volatile(".rept 1277; nopl (%rax); .endr");                          \
    return sum + (unsigned)unread_##n[0];                                        \
  }
#ifdef SCATTERED
#define BETWEEN(n) COLD(n)
#define AT_THE_END(n)
#else
#define BETWEEN(n)
#define AT_THE_END(n) COLD(n)
#endif
#define EACH(DO)                                                                                  \
  DO(0)                                                                                           \
  DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15) \
      DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)
#define BOTH(n) HOT(n) BETWEEN(n)
#define CALL(n) sum = hot_##n(sum);

EACH(BOTH)
EACH(AT_THE_END)

int main(int count, char** words) {
  unsigned sum = 0;
  for (long rounds = count > 1 ? atol(words[1]) : 0; rounds > 0; --rounds) {
    EACH(CALL)
  }
  printf("sum=%u\n", sum);
}
