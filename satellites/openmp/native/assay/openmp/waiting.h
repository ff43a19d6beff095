// How long a thread that waits looks again and again before it sleeps.
//
// Looking costs a processor that another thread may need, sleeping costs some microseconds on both
// sides. So a thread looks for a while where each thread that is in a team has a processor. Where
// there are more, it gives up its processor some times, and then sleeps. Those that sleep count as
// well: the kernel may put two that are awake on one processor, where the one that looks would keep
// the other from working.
//
// Where waits often take longer than that, looking is in vain, and a processor that other programs
// may need is lost for it. So each place in the program remembers what came of the last ones, and
// threads sleep there after a short look (Karlin et al. 1991 adapt the time that locks look).

#ifndef ASSAY_OPENMP_WAITING_H_
#define ASSAY_OPENMP_WAITING_H_

#include <cstdint>
#include <thread>
#include <utility>

#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/openmp/events.h"
#include "assay/openmp/places.h"
#include "assay/openmp/settings.h"

namespace assay::omp {

// Threads in teams. Each counts itself; a number that stands for itself, so that all is relaxed.
inline constinit atomic<int> in_teams{1};

class patience {
 public:
  // About 200 us in all: many times what a sleep costs, and what two threads that are out of step
  // lose by turns.
  static constexpr unsigned looks = 8000;
  // Some 13 us: what a sleep costs. A wait that ends before is remembered by no place.
  static constexpr unsigned short_look = 512;

  // `at`: the place in the program, null if it is not known.
  explicit patience(const void* at = nullptr) noexcept : at_(at) {}
  ~patience() { looked_enough(true); }
  patience(const patience&) = delete;
  patience& operator=(const patience&) = delete;

  // Waits a moment. False if the thread should sleep now.
  [[nodiscard]] bool look_again() noexcept {
    const settings& set = process_settings();
    const bool crowded = in_teams.load(memory_order_relaxed) > static_cast<int>(set.processors);
    const bool active = set.waiting == wait_policy::active;
    const unsigned most = set.waiting == wait_policy::passive ? 1
                          : crowded && active                 ? looks_if_crowded_and_active
                          : crowded                           ? looks_if_crowded
                          : active                            ? ~0U
                                                              : looks;
    if (looked_ >= most) {
      looked_enough(false);
      return false;
    }
    if (looked_ == short_look && most == looks && at_ != nullptr) {
      place& here = place_of(at_);
      if (!pays_to_look(here)) return false;
      long_look_ = &here;
    }
    ++looked_;
    if (crowded) {
      std::this_thread::yield();
    } else {
      sync::backoff::pause();
    }
    return true;
  }
  // It has found something to do.
  void reset() noexcept {
    looked_enough(true);
    looked_ = 0;
  }

 private:
  // Who has no processor gets that of who waits. That is often one of those that are waited for,
  // and takes less than a sleep. Then a sleep: others may keep the processor for milliseconds.
  static constexpr unsigned looks_if_crowded = 64;
  static constexpr unsigned looks_if_crowded_and_active = 1000;

  void looked_enough(bool ended) noexcept {
    if (long_look_ != nullptr) record_look(*std::exchange(long_look_, nullptr), ended);
  }

  const void* at_;
  place* long_look_ = nullptr;  // where it looks for longer than short_look
  unsigned looked_ = 0;
};

// Returns when `ready()`. Other threads tell `news` of each change that may make it so. The calling
// thread runs no tasks meanwhile. `at`: the place in the program, null if it is not known.
template <class Ready>
void wait_quietly(events& news, const Ready& ready, const void* at) {
  patience patience(at);
  while (!ready()) {
    if (patience.look_again()) continue;
    const std::uint32_t key = news.prepare();
    if (ready()) {
      news.forget();
      return;
    }
    news.sleep(key);
  }
}

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_WAITING_H_
