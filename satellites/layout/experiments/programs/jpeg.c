// A picture written as JPEG and read again, twice.
#include <stdio.h>
#include <stdlib.h>
// after stdio.h, which it needs
#include <jpeglib.h>

enum { width = 256, height = 256 };

int main(void) {
  unsigned char* packed = NULL;
  unsigned long bytes = 0;
  static unsigned char row[3 * width];
  unsigned char* rows[] = {row};
  for (int round = 0; round < 2; ++round) {
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct to = {.err = jpeg_std_error(&errors)};
    jpeg_create_compress(&to);
    jpeg_mem_dest(&to, &packed, &bytes);
    to.image_width = width;
    to.image_height = height;
    to.input_components = 3;
    to.in_color_space = JCS_RGB;
    jpeg_set_defaults(&to);
    to.dct_method = JDCT_ISLOW;
    jpeg_start_compress(&to, TRUE);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < 3 * width; ++x) row[x] = (unsigned char)(x * y / 64 + (x ^ y) % 32);
      jpeg_write_scanlines(&to, rows, 1);
    }
    jpeg_finish_compress(&to);
    jpeg_destroy_compress(&to);
    struct jpeg_decompress_struct from = {.err = jpeg_std_error(&errors)};
    jpeg_create_decompress(&from);
    jpeg_mem_src(&from, packed, bytes);
    jpeg_read_header(&from, TRUE);
    jpeg_start_decompress(&from);
    while (from.output_scanline < from.output_height) jpeg_read_scanlines(&from, rows, 1);
    jpeg_finish_decompress(&from);
    jpeg_destroy_decompress(&from);
  }
  printf("%lu\n", bytes);
  free(packed);
  return 0;
}
