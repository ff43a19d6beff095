// What the programs of these tests share. A check that fails names itself and ends the program.

#ifndef ASSAY_OPENMP_TESTS_API_CHECK_H_
#define ASSAY_OPENMP_TESTS_API_CHECK_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                               \
    }                                                                         \
  } while (0)

#define CHECK_EQUAL(found, expected)                                                     \
  do {                                                                                   \
    long found_ = (long)(found), expected_ = (long)(expected);                           \
    if (found_ != expected_) {                                                           \
      fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", __FILE__, __LINE__, #found, found_, \
              expected_);                                                                \
      _exit(1);                                                                          \
    }                                                                                    \
  } while (0)

// Runs the program again with an argument and variables ("NAME=value", null at the end), and checks
// that it ends well. With `errors`, keeps what it writes to standard error there.
static inline void run_again(const char* argument, char* const* variables, char* errors,
                             size_t room) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (; *variables != NULL; ++variables) putenv(*variables);
    if (errors != NULL) dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl("/proc/self/exe", "again", argument, (char*)NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t length = 0;
  if (errors != NULL) {
    ssize_t got;
    while ((got = read(ends[0], errors + length, room - 1 - length)) > 0) length += (size_t)got;
    errors[length] = '\0';
  }
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (status != 0) {
    fprintf(stderr, "with the argument %s: status %d%s%s\n", argument, status,
            errors == NULL ? "" : ": ", errors == NULL ? "" : errors);
    _exit(1);
  }
}

#endif  // ASSAY_OPENMP_TESTS_API_CHECK_H_
