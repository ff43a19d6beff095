// All other threads of the process stand still while one of these exists.
//
//     const stopped_threads still;       // waits until each has stopped
//     ...                                // no allocation: one of them may hold the allocator's
//     lock
//
// Each is sent a signal, and waits in its handler. A system call that it was in goes on afterwards
// as signal(7) says of SA_RESTART; those that cannot (nanosleep, poll, ...) return EINTR. A thread
// that is away (away_from_program) touches nothing of the program, and is not disturbed: it waits
// if it comes back meanwhile.

#ifndef ASSAY_EMULATION_RTM_STOPPED_THREADS_H_
#define ASSAY_EMULATION_RTM_STOPPED_THREADS_H_

#include <cstddef>

namespace assay::emulation {

class stopped_threads {
 public:
  // Which threads never block.
  [[nodiscard]] static int signal_number();
  // Once, before the first.
  static void install();

  stopped_threads();  // by one thread at a time, which is away
  ~stopped_threads();
  stopped_threads(const stopped_threads&) = delete;
  stopped_threads& operator=(const stopped_threads&) = delete;
};

// A thread's place among those that are away at times. Its thread makes and destroys it.
class away_place {
 public:
  away_place();
  ~away_place();
  away_place(const away_place&) = delete;
  away_place& operator=(const away_place&) = delete;

 private:
  friend class away_from_program;
  std::size_t at_ = 0;
};

// While one of these exists its thread neither reads nor writes what is the program's.
class away_from_program {
 public:
  explicit away_from_program(const away_place& place);
  ~away_from_program();  // waits while threads are to be stopped
  away_from_program(const away_from_program&) = delete;
  away_from_program& operator=(const away_from_program&) = delete;

 private:
  std::size_t at_;
};

}  // namespace assay::emulation

#endif  // ASSAY_EMULATION_RTM_STOPPED_THREADS_H_
