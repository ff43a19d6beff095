// A picture written as JPEG and read again. With `other`: as a progressive one, which is read at half the size and with few colours.
#include <stdio.h>
#include <stdlib.h>
// after stdio.h, which it needs
#include <jpeglib.h>

enum { width = 256, height = 256 };

int main(int count, char** words) {
  const int other = count > 1;
  unsigned char* packed = NULL;
  unsigned long bytes = 0;
  unsigned long sum = 0;
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
    to.dct_method = other ? JDCT_IFAST : JDCT_ISLOW;
    if (other) jpeg_simple_progression(&to);
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
    if (other) {
      from.scale_denom = 2;
      from.dct_method = JDCT_IFAST;
      from.quantize_colors = TRUE;
      from.two_pass_quantize = FALSE;
    }
    jpeg_start_decompress(&from);
    while (from.output_scanline < from.output_height) {
      jpeg_read_scanlines(&from, rows, 1);
      sum += row[from.output_scanline % 32];
    }
    jpeg_finish_decompress(&from);
    jpeg_destroy_decompress(&from);
  }
  printf("%lu %lu\n", bytes, sum);
  free(packed);
  return 0;
}
