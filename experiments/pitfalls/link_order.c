/* One program that can do the same in two ways, `one` and `other` (layout.toml). Either is 24 functions of 256 bytes, each with a
   table of 256 bytes, and each in an object of its own. 24 more objects have 3840 bytes of code and as many of data that nothing
   uses. Where such an object is linked after each function of a way, its functions begin 4 KiB apart and share two places of a
   direct-mapped cache of 8 KiB; those of the other way stand together and fit into it. Which way that is depends on
   the order of the objects on the linker's command line (link_order_build), and on nothing else: they are compiled once. */
#define PASTED(a, b) a##b
#define NAMED(a, b) PASTED(a, b)

#if defined(HOT)
int NAMED(table_, HOT)[64] __attribute__((aligned(32))) = {1};
/* 75 instructions of 3 bytes that wait for nothing, so that fetching them is what takes the time; and a read of each
   line of the table. */
__attribute__((aligned(32))) unsigned HOT(unsigned sum) {
  __asm__ volatile(".rept 75; nopl (%rax); .endr");
  for (int line = 0; line != 64; line += 8) sum += (unsigned)((volatile int*)NAMED(table_, HOT))[line];
  return sum;
}

#elif defined(COLD)
int NAMED(unread_, COLD)[960] __attribute__((aligned(32))) = {1};
__attribute__((aligned(32))) unsigned COLD(unsigned sum) {
  __asm__ volatile(".rept 1277; nopl (%rax); .endr");
  return sum + (unsigned)NAMED(unread_, COLD)[0];
}

#else
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EACH(DO, way)                                                                               \
  DO(way, 0)                                                                                        \
  DO(way, 1) DO(way, 2) DO(way, 3) DO(way, 4) DO(way, 5) DO(way, 6) DO(way, 7) DO(way, 8)           \
      DO(way, 9) DO(way, 10) DO(way, 11) DO(way, 12) DO(way, 13) DO(way, 14) DO(way, 15)            \
          DO(way, 16) DO(way, 17) DO(way, 18) DO(way, 19) DO(way, 20) DO(way, 21) DO(way, 22) DO(way, 23)
#define DECLARE(way, n) unsigned way##n(unsigned sum);
#define CALL(way, n) sum = way##n(sum);
EACH(DECLARE, one_)
EACH(DECLARE, other_)

int main(int count, char** words) {
  unsigned sum = 0;
  const int is_one = count > 1 && strncmp(words[1], "one", 3) == 0;
  for (long rounds = count > 2 ? atol(words[2]) : 0; rounds > 0; --rounds) {
    if (is_one) {
      EACH(CALL, one_)
    } else {
      EACH(CALL, other_)
    }
  }
  printf("sum=%u\n", sum);
}
#endif
