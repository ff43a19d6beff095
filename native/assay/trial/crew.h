// The worker threads of a trial, which do each phase of it together.
//
//     crew threads(4);
//     threads.run([&](unsigned i) { ... });     // in all four, i = 0 to 3; returns when all have
//
// The same threads serve every phase, so that what prefills a map also measures it (Kharal and
// Brown, section 4.8), while the trial as a whole reads from top to bottom in one place.

#ifndef ASSAY_TRIAL_CREW_H_
#define ASSAY_TRIAL_CREW_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::trial {

class crew {
 public:
  using task = std::function<void(unsigned thread_index)>;

  // Throws std::system_error if the operating system gives too few threads.
  explicit crew(unsigned threads);
  ~crew() { finish(); }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  // Lets every thread begin `phase`. `wait` must follow before anything else is started.
  void start(task phase);

  // Returns once all threads have ended the phase. If any threw, rethrows the exception of one of
  // them.
  void wait();

  void run(task phase) {
    start(std::move(phase));
    wait();
  }

 private:
  void serve(unsigned thread_index);
  void finish();

  std::mutex mutex_;
  std::condition_variable begun_;  // a phase, or the end of all
  std::condition_variable ended_;  // the phase, in all threads
  task phase_;
  std::uint64_t phases_started_ = 0;
  unsigned busy_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_CREW_H_
