// A program with transactions of its own, which threads begin while they run ahead of a barrier:
// they are part of that transaction, and happen with it or not at all. It says what is wrong and
// exits with 1, or prints nothing.
#include <immintrin.h>
#include <omp.h>
#include <stdio.h>

enum { rounds = 600 };

static long counts[2][16];

static int wrong(const char* what) {
  fprintf(stderr, "own: %s\n", what);
  return 1;
}

int main(void) {
  int bad = 0;
  long asked = 0;
#pragma omp parallel num_threads(2) reduction(+ : bad, asked)
  {
    const int me = omp_get_thread_num();
    for (long round = 0; round < rounds; ++round) {
      // By turns, so that one of them always has something to wait for.
      if (round % 2 == me) {
        for (volatile int i = 0; i < 2000; ++i) continue;
      }
#pragma omp barrier
      const unsigned status = _xbegin();
      if (status == _XBEGIN_STARTED) {
        ++counts[me][0];
        // It sends itself back to its beginning now and then, and with it all that it ran ahead.
        if (round % 50 == 7 && asked == round / 50) _xabort(5);
        _xend();
      } else {
        if ((status & _XABORT_EXPLICIT) != 0 && _XABORT_CODE(status) == 5) ++asked;
        ++counts[me][0];
      }
      if (_xtest() != 0 && omp_get_level() != 1) ++bad;  // to look changes nothing
    }
  }
  for (int i = 0; i < 2; ++i) {
    if (counts[i][0] != rounds) return wrong("a transaction was lost or happened twice");
  }
  return bad != 0 ? wrong("a level is not the region's") : 0;
}
