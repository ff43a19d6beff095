// A text for programs that compress: letters at random, and now and then what stood before.
#pragma once
#include <stddef.h>

static void write_text(unsigned char* text, size_t bytes) {
  unsigned seed = 1;
  for (size_t i = 0; i < bytes; ++i) {
    seed = seed * 1103515245U + 12345U;
    text[i] = (unsigned char)("etaoin shrdlu"[(seed >> 16U) % 13U]);
    if (i < 500 || (seed >> 20U) % 9U != 0) continue;
    for (size_t left = (seed >> 8U) % 40U; left > 0 && i + 1 < bytes; --left, ++i)
      text[i + 1] = text[i - 399];
  }
}
