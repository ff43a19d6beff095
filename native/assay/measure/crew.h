// The worker threads of a trial, which do each phase of it together.
//
//     crew threads(4);
//     threads.run([&](unsigned i) { ... });     // in all four, i = 0 to 3; returns when all have
//
// The same threads serve every phase, so that what prefills a map also measures it (Kharal and
// Brown, section 4.8), while the trial as a whole reads from top to bottom in one place.
//
// The thread that made a crew starts its phases, waits for them and destroys it. The system wakes
// the threads one after the other: work that is to begin in all of them at once waits for that
// within the phase (measure/common_start.h).

#ifndef ASSAY_MEASURE_CREW_H_
#define ASSAY_MEASURE_CREW_H_

#include <cassert>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace assay::measure {

// Arbitrary choices in how threads are started. They can change how fast the threads are.
struct thread_options {
  std::vector<unsigned> order{};  // of all thread indices, in which they are made; empty: 0, 1, ...
  std::size_t stack_bytes = 0;    // of its stack that each thread leaves unused above all it does
};

class crew {
 public:
  using task = std::function<void(unsigned thread_index)>;

  // Throws std::system_error if the operating system gives too few threads.
  explicit crew(unsigned threads, const thread_options& options = {}) {
    assert(options.order.empty() || options.order.size() == threads);
    threads_.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned index = options.order.empty() ? i : options.order[i];
      try {
        threads_.emplace_back(
            [this, index, bytes = options.stack_bytes] { serve_below(bytes, index); });
      } catch (const std::system_error& error) {
        finish();
        throw std::system_error(error.code(), "cannot start thread " + std::to_string(i + 1) +
                                                  " of " + std::to_string(threads));
      }
    }
  }
  ~crew() { finish(); }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  // Lets every thread begin `phase`, and returns at once. wait() must follow before anything else
  // is started, and before the crew is destroyed.
  void start(task phase) {
    const std::scoped_lock lock(mutex_);
    phase_ = std::move(phase);
    busy_ = static_cast<unsigned>(threads_.size());
    ++phases_started_;
    begun_.notify_all();
  }

  // Returns once all threads have ended the phase. If any threw, rethrows the exception of one of
  // them.
  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // start() and wait().
  void run(task phase) {
    start(std::move(phase));
    wait();
  }

 private:
  // Not inlined, and not left by a jump into serve(), so that the bytes stay above all that this
  // calls.
  [[gnu::noinline]] void serve_below(std::size_t bytes, unsigned thread_index) {
    void* const unused = __builtin_alloca(bytes);
    asm volatile("" : : "r"(unused) : "memory");
    serve(thread_index);
    asm volatile("" : : "r"(unused) : "memory");
  }

  void serve(unsigned thread_index) {
    std::unique_lock lock(mutex_);
    for (std::uint64_t done = 0;; ++done) {
      begun_.wait(lock, [&] { return over_ || phases_started_ > done; });
      if (over_) return;
      lock.unlock();
      std::exception_ptr failure;
      try {
        phase_(thread_index);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure) failure_ = failure;
      if (--busy_ == 0) ended_.notify_all();
    }
  }

  void finish() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
      begun_.notify_all();
    }
    threads_.clear();
  }

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

}  // namespace assay::measure

#endif  // ASSAY_MEASURE_CREW_H_
