// Maps of which a trial does not come to its end: the process dies, an operation or the walk never
// returns, or the prefill does not get on.

#include <chrono>
#include <deque>
#include <stdexcept>
#include <string>
#include <thread>

#include "flawed_map.h"

namespace assay::flawed {

// Writes to address 0 now and then. The process dies of a segmentation fault.
class crashes : public flawed_map<crashes> {
 public:
  // Not caught by a sanitizer, so that it dies of the same signal in every build.
  __attribute__((no_sanitize("undefined"))) bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_()) {
      volatile std::uint64_t* volatile nowhere = nullptr;  // volatile: the compiler must not know
      *nowhere = value;  // NOLINT(clang-analyzer-core.NullDereference): on purpose
    }
    return sound_map::insert(key, value);
  }
};

static const subject::map<crashes> registered_crashes{"crashes",
                                                      "writes to address 0 now and then"};

// Throws now and then, which no operation of a map may. The program ends with an error and no
// result.
class throws : public flawed_map<throws> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_()) throw std::runtime_error("insert failed on purpose");
    return sound_map::insert(key, value);
  }
};

static const subject::map<throws> registered_throws{"throws", "throws an exception now and then"};

// Keeps its lock when an erase finds nothing now and then. The next operation waits forever, and
// the trial times out.
class deadlocks : public flawed_map<deadlocks> {
 public:
  bool erase(std::uint64_t key) {
    mutex.lock();
    const bool erased = elements.erase(key) != 0;
    if (erased || !now_and_then_()) mutex.unlock();
    return erased;
  }
};

static const subject::map<deadlocks> registered_deadlocks{"deadlocks",
                                                          "keeps its lock now and then"};

// An insert that does not return and takes 1 MiB of memory every 10 ms. It ends by the limit on
// memory or on time, whichever comes first: slowly enough that no machine runs out of memory before
// a time limit of some seconds.
class leaks : public flawed_map<leaks> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (now_and_then_()) {
      for (;;) {
        {
          const std::scoped_lock lock(mutex);
          never_freed_.emplace_back(mebibyte, 'x');
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    return sound_map::insert(key, value);
  }

 private:
  static constexpr std::size_t mebibyte = std::size_t{1} << 20;
  std::deque<std::string> never_freed_;
};

static const subject::map<leaks> registered_leaks{"leaks", "allocates without end"};

// Its elements form a circle. The walk is given up after more elements than there are keys.
class endless_walk : public flawed_map<endless_walk> {
 public:
  template <class Visit>
  void for_each(Visit&& visit) {
    while (!elements.empty()) sound_map::for_each(visit);
  }
};

static const subject::map<endless_walk> registered_endless_walk{
    "endless_walk", "walks through its elements in a circle"};

// Refuses to hold more than a few keys. All of its answers are true, but the prefill does not
// arrive at the size that was asked for, so that the measured map would not be the intended one.
class never_fills : public flawed_map<never_fills> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    return elements.size() < 4 && elements.emplace(key, value).second;
  }
};

static const subject::map<never_fills> registered_never_fills{"never_fills",
                                                              "holds at most four keys"};

}  // namespace assay::flawed
