// Adds up a matrix of ones along its rows or its columns. It knows nothing of Assay.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int count, char** arguments) {
  if (count != 3) {
    return fprintf(stderr, "usage: traverse SIZE rows|columns\n"), 2;
  }
  const size_t size = strtoul(arguments[1], NULL, 10);
  const int by_rows = strcmp(arguments[2], "rows") == 0;
  int* matrix = malloc(size * size * sizeof *matrix);
  for (size_t at = 0; at < size * size; ++at) {
    matrix[at] = 1;
  }
  long total = 0;
  const double began = now_ns();
  for (size_t outer = 0; outer < size; ++outer) {
    for (size_t inner = 0; inner < size; ++inner) {
      total += by_rows ? matrix[outer * size + inner] : matrix[inner * size + outer];
    }
  }
  const double took = now_ns() - began;
  printf("the total is %ld\nelement_ns=%.3f\n", total, took / (double)(size * size));
  free(matrix);
}
