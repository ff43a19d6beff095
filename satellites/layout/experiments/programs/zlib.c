// Text compressed by zlib and unpacked again.
#include <stdio.h>
#include <string.h>
#include <zlib.h>

int main(void) {
  static unsigned char text[200000];
  static unsigned char packed[210000];
  unsigned seed = 1;
  for (size_t i = 0; i < sizeof text; ++i) {
    seed = seed * 1103515245U + 12345U;
    text[i] = (unsigned char)("etaoin shrdlu"[(seed >> 16U) % 13U]);
    if (i > 500 && (seed >> 20U) % 9U == 0) {
      const size_t length = (seed >> 8U) % 40U;
      for (size_t j = 0; j < length && i + 1 < sizeof text; ++j, ++i) text[i + 1] = text[i + 1 - 400];
    }
  }
  uLongf bytes = sizeof packed;
  uLongf again = sizeof text;
  if (compress(packed, &bytes, text, sizeof text) != Z_OK || uncompress(text, &again, packed, bytes) != Z_OK) return 1;
  printf("%lu\n", bytes);
  return 0;
}
