// What the tests of the search trees share: threads that stop in the middle of an erase. For files
// compiled with ASSAY_POINTS=1, while `sync::at_points` is &stop_if_planned.

#ifndef TESTS_MAPS_TREES_TEST_STOPS_H_
#define TESTS_MAPS_TREES_TEST_STOPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "tests/maps/trees_test_types.h"

namespace assay::trees_test {

// A thread stops at the first point of this name that it comes to, until it is let go.
struct stop {
  std::string_view at;
  void (*when_let_go)() = nullptr;
  std::binary_semaphore reached{0};
  std::binary_semaphore go_on{0};
};
inline thread_local stop* planned_stop = nullptr;

inline void stop_if_planned(const char* point) {
  if (planned_stop == nullptr || planned_stop->at != point) return;
  stop* const here = std::exchange(planned_stop, nullptr);
  here->reached.release();
  here->go_on.acquire();
  if (here->when_let_go != nullptr) here->when_let_go();
}

// Erases one key, and stops in the middle.
template <class Map>
class stopped_eraser {
 public:
  stopped_eraser(Map& map, std::uint64_t key, std::string_view at) : stop_{.at = at} {
    thread_ = std::thread([this, &map, key] {
      auto handle = map.attach();
      planned_stop = &stop_;
      erased_ = handle.erase(made_of<moody>(key));
      // It need not pass that point.
      if (std::exchange(planned_stop, nullptr) != nullptr) stop_.reached.release();
    });
    stop_.reached.acquire();
  }
  stopped_eraser(const stopped_eraser&) = delete;
  stopped_eraser& operator=(const stopped_eraser&) = delete;
  ~stopped_eraser() {
    if (thread_.joinable()) finish();
  }
  bool finish() {
    stop_.go_on.release();
    thread_.join();
    return erased_;
  }

 private:
  stop stop_;
  bool erased_ = false;
  std::thread thread_;
};

// Puts this many erases of neighbours before the swing that removes them, each with its leaf
// marked, lets the lowest go on, which removes them all at once, and then the others, which find
// their work done. Answers how many nodes waited to be freed after the first and after the last.
struct removed_chain {
  bool all_succeeded;
  std::optional<std::string> fault_after_first;
  std::uint64_t unfreed_after_first;
  std::uint64_t unfreed_after_all;
};
template <class Map>
removed_chain remove_chain(Map& map, std::uint64_t length) {
  auto handle = map.attach();
  // `length` leaves hang to the left of one long way to the right.
  bool all_succeeded = true;
  for (std::uint64_t key = 1; key <= length + 2; ++key) {
    all_succeeded &= handle.insert(moody(key), moody(key));
  }
  std::vector<std::unique_ptr<stopped_eraser<Map>>> erasers;
  for (std::uint64_t key = 1; key <= length; ++key) {
    erasers.push_back(
        std::make_unique<stopped_eraser<Map>>(map, key, "natarajan_mittal_splice_before_swing"));
  }
  all_succeeded &= map.unfreed() == 0 && erasers.back()->finish();
  const std::uint64_t after_first = map.unfreed();
  const auto fault_after_first = map.broken_invariant();
  erasers.pop_back();
  for (const auto& eraser : erasers) all_succeeded &= eraser->finish();
  all_succeeded &= !handle.contains(moody(length)) && handle.contains(moody(length + 1));
  return {.all_succeeded = all_succeeded,
          .fault_after_first = fault_after_first,
          .unfreed_after_first = after_first,
          .unfreed_after_all = map.unfreed()};
}

}  // namespace assay::trees_test

#endif  // TESTS_MAPS_TREES_TEST_STOPS_H_
