#include "assay/trial/crew.h"

#include <string>
#include <system_error>
#include <utility>

namespace assay::trial {

crew::crew(unsigned threads) {
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error& error) {
      finish();
      throw std::system_error(error.code(), "cannot start thread " + std::to_string(i + 1) +
                                                " of " + std::to_string(threads));
    }
  }
}

void crew::start(task phase) {
  const std::scoped_lock lock(mutex_);
  phase_ = std::move(phase);
  busy_ = static_cast<unsigned>(threads_.size());
  ++phases_started_;
  begun_.notify_all();
}

void crew::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void crew::serve(unsigned thread_index) {
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

void crew::finish() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    begun_.notify_all();
  }
  threads_.clear();
}

}  // namespace assay::trial
