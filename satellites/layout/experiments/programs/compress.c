// The compressor ncompress, from memory to memory: its hot loop is one function. With `other`, it unpacks what it has packed, again and again.
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "text.h"

enum { bytes = 600000, to_pack = 3, to_unpack = 4 };  // descriptors

static unsigned char text[bytes];
static unsigned char packed[2 * bytes];
static size_t text_bytes = bytes, packed_bytes, taken, given;

ssize_t read_memory(int from, void* to, size_t most) {
  const size_t left = (from == to_pack ? text_bytes : packed_bytes) - taken;
  const size_t count = left < most ? left : most;
  memcpy(to, (from == to_pack ? text : packed) + taken, count);
  taken += count;
  return (ssize_t)count;
}

ssize_t write_memory(int to, const void* from, size_t count) {
  if (to == to_pack) memcpy(packed + given, from, count);
  given += count;
  return (ssize_t)count;
}

// ncompress is compiled to read and write by these two.
void compress(int from, int to);
void decompress(int from, int to);

int main(int count, char** words) {
  const int other = count > 1;
  if (other) text_bytes = bytes / 4;
  write_text(text, text_bytes);
  compress(to_pack, to_pack);
  packed_bytes = given;
  for (int round = 0; other && round < 5; ++round) {
    taken = given = 0;
    decompress(to_unpack, to_unpack);
  }
  printf("%zu %zu\n", packed_bytes, given);
  return 0;
}
