/* Two programs that do the same and differ only in where an array stands on the stack (pitfalls/environment.toml).

   The loop reads an array on the stack and a table, 4 KiB each, line by line and by turns. In a direct-mapped cache of
   8 KiB both fit if they lie half a cache apart, and drive each other out if they lie at the same place of it. The table
   stands still. The array moves with all that the kernel puts above it, the environment first; compiled with -DLOWER it
   stands half a cache lower. So what is best for one program is worst for the other. */
#include <stdio.h>
#include <stdlib.h>

static char table[4096] __attribute__((aligned(8192)));

__attribute__((noinline)) static unsigned read_both(long rounds) {
#ifdef LOWER
  volatile char unread[4096];
  unread[0] = 0;
  __asm__ volatile("" : : "r"(unread) : "memory");
#endif
  volatile char array[4096];
  for (int i = 0; i < 4096; ++i) array[i] = 1;
  unsigned sum = 0;
  for (; rounds > 0; --rounds) {
    for (int line = 0; line < 4096; line += 32) sum += (unsigned)(array[line] + ((volatile char*)table)[line]);
  }
  return sum;
}

int main(int count, char** words) { printf("sum=%u\n", read_both(count > 1 ? atol(words[1]) : 0)); }
