/* Makes the wall clock of a program and its children jump by hours, there and back, each 150 ms:
 *
 *     cc -shared -fPIC -O1 -o build/jumping_clock.so tools/jumping_clock.c
 *     LD_PRELOAD=$PWD/build/jumping_clock.so .venv/bin/pytest -x -q
 *
 * The monotonic clocks stay right. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long jumps_s[] = {0, 3 * 3600, -7 * 3600, 3600, -1, 90000};
static const long every_ns = 150000000;

static long jump_s(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  const long times = (now.tv_sec * 1000000000 + now.tv_nsec) / every_ns;
  return jumps_s[times % (long)(sizeof jumps_s / sizeof *jumps_s)];
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump_s();
  return (int)failed;
}

int gettimeofday(struct timeval* now, void* zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  *now = (struct timeval){precise.tv_sec, precise.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* also) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (also != NULL) *also = now.tv_sec;
  return now.tv_sec;
}
