#include "assay/trial/crew.h"

#include <string>
#include <system_error>
#include <utility>

namespace assay::trial {

crew::crew(unsigned threads) {
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back([this, i](const std::stop_token& stop) { serve(stop, i); });
    } catch (const std::system_error& error) {
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
  changed_.notify_all();
}

void crew::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void crew::serve(const std::stop_token& stop, unsigned thread_index) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t done = 0; changed_.wait(lock, stop, [&] { return phases_started_ > done; });
       ++done) {
    lock.unlock();
    std::exception_ptr failure;
    try {
      phase_(thread_index);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) failure_ = failure;
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace assay::trial
