// A thread that never returns from a map cannot be stopped, and would hold up the check for ever
// without a word.
//
//     watchdog watch({.check = "model", .map = subject.name, .seed = 7});
//     const auto map = watch.over(subject.open({.key_range = 8, .threads = 4}));
//     const auto handle = map->attach();
//     handle->ask(...);                    // every call that returns is a sign of life
//     watch.sign_of_life();                // so is this
//
// When there has been none for a minute, it prints what was checked and inside which call of the
// map each thread is, and ends the process with status 3:
//
//     error: model of deadlocks, seed 7: nothing has happened for 60 s
//       a thread is inside insert(3, 12)
//
// The environment variable ASSAY_RIG_PATIENCE gives another number of seconds than 60.

#ifndef ASSAY_RIG_WATCHDOG_H_
#define ASSAY_RIG_WATCHDOG_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>

#include "assay/maps/any_map.h"
#include "assay/workload/operation_batch.h"

namespace assay::rig {

// How long a check may do nothing.
[[nodiscard]] std::chrono::milliseconds patience();

// What it costs the threads watched is a few relaxed stores to memory that no other thread writes.
class watchdog {
 public:
  struct subject_of_check {
    std::string check;
    std::string map;
    std::uint64_t seed;
    std::chrono::milliseconds longer{0};  // what the check does in silence, beside the patience
    // Allocated bytes above those at the beginning that end the process with status 1; for checks
    // of maps that may never stop allocating.
    std::optional<std::uint64_t> most_bytes{};
  };

  explicit watchdog(subject_of_check of);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  // The same map, watched. The watchdog outlives it.
  [[nodiscard]] std::unique_ptr<any_map> over(std::unique_ptr<any_map> map);

  // By any thread.
  void sign_of_life() { life_.fetch_add(1, std::memory_order_relaxed); }

  // What else is printed if the process is ended: what was known by then. By any thread.
  void note(std::string known);

 private:
  class watched_map;
  class watched_handle;

  // What one thread is inside of. Relaxed throughout: it is read to be printed when nothing moves.
  struct alignas(workload::interference_bytes) post {
    std::atomic<bool> taken{false};
    std::atomic<std::uint64_t> steps{0};     // into and out of calls: odd inside
    std::atomic<const char*> call{nullptr};  // null for what `asked` says
    std::atomic<workload::operation> kind{};
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> value{0};
    std::atomic<std::uint64_t> last{0};

    void enter(const question& asked);
    void enter(const char* what);
    void leave();
    [[nodiscard]] std::string inside_of() const;  // empty if it is inside of nothing
  };
  class inside;

  post& take_post();
  [[nodiscard]] std::uint64_t signs() const;
  void keep_watch();
  void look_at_memory();
  [[noreturn]] void end_process(const std::string& why, int status);

  static constexpr std::size_t most_posts = 32;

  subject_of_check of_;
  std::uint64_t bytes_at_first_;
  std::atomic<std::uint64_t> life_{0};
  std::array<post, most_posts> posts_{};
  std::mutex mutex_;
  std::string known_;  // guarded by mutex_
  std::binary_semaphore over_{0};
  std::jthread thread_;  // last, so that it ends before what it uses
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_WATCHDOG_H_
