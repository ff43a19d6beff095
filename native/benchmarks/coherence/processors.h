// Threads that stand for the processors of a simulation: they take turns, one at a time.
//
//     coherence::processors sixteen(16);
//     sixteen.each([&](unsigned i) { ... });                 // 0 to 15 once, one after the other
//     sixteen.at_random(1000, seed, [&](unsigned i) { ... });  // 1000 turns
//
// They are threads so that each has its own stack, its own thread-local objects, and its own part
// of the allocator, as a program's would. They share one real processor, as only one of them works
// at a time. What they do must not throw.

#ifndef BENCHMARKS_COHERENCE_PROCESSORS_H_
#define BENCHMARKS_COHERENCE_PROCESSORS_H_

#include <cstdint>
#include <memory>
#include <semaphore>
#include <vector>

#include "assay/host/placement.h"
#include "assay/measure/crew.h"
#include "assay/random/splitmix64.h"

namespace assay::coherence {

class processors {
 public:
  explicit processors(unsigned number) : number_(number), crew_(number) {
    for (unsigned i = 0; i < number; ++i) turns_.push_back(std::make_unique<turn>(0));
    const host::placement one({host::pinning::policy::cores_first, {}}, 1);
    crew_.run([&one](unsigned /*i*/) { one.bind_this_thread(0); });
  }

  template <class Work>
  void each(const Work& work) {
    unsigned next = 0;
    take_turns(number_, [&next] { return next++; }, work);
  }

  template <class Work>
  void at_random(std::uint64_t times, std::uint64_t seed, const Work& work) {
    random::splitmix64 draw(seed);
    take_turns(times, [&] { return static_cast<unsigned>(draw() % number_); }, work);
  }

 private:
  using turn = std::binary_semaphore;

  // `choose` says whose the next turn is.
  template <class Choose, class Work>
  void take_turns(std::uint64_t times, Choose choose, const Work& work) {
    crew_.start([&](unsigned i) noexcept {
      for (turns_[i]->acquire(); times > 0; turns_[i]->acquire()) {
        unsigned next = i;
        while (next == i) {
          work(i);
          if (--times == 0) {
            for (unsigned other = 0; other < number_; ++other) turns_[other]->release();
            break;
          }
          next = choose();
        }
        if (next != i) turns_[next]->release();
      }
    });
    turns_[choose()]->release();
    crew_.wait();
  }

  unsigned number_;
  std::vector<std::unique_ptr<turn>> turns_;
  measure::crew crew_;
};

}  // namespace assay::coherence

#endif  // BENCHMARKS_COHERENCE_PROCESSORS_H_
