// The compressor LZ4, from memory to memory: its hot loop is one function. With `other`, it unpacks what it has packed, again and again.
#include <lz4.h>
#include <stdio.h>

#include "text.h"

enum { bytes = 800000 };

static char text[bytes];
static char packed[LZ4_COMPRESSBOUND(bytes)];

int main(int count, char** words) {
  write_text((unsigned char*)text, bytes);
  const int other = count > 1;
  const int packed_bytes = LZ4_compress_default(text, packed, bytes, sizeof packed);
  int last = 0;
  for (int round = 0; round < (other ? 12 : 2); ++round)
    last = other ? LZ4_decompress_safe(packed, text, packed_bytes, bytes) : LZ4_compress_default(text, packed, bytes, sizeof packed);
  printf("%d\n", last);
  return 0;
}
