// Maps that are wrong on purpose, to show that a trial or the rig notices. Nothing of this
// directory is linked into assay-trial. Most are a correct map behind a mutex that does one thing
// wrong, usually only now and then, as the mistakes that matter are rare. `natarajan_lost_update`
// and `natarajan_leaks` are the lock-free search tree with one step replaced; the latter answers
// rightly and is also a subject of its own, under the name natarajan_mittal_bst_as_published.

#ifndef ASSAY_FLAWED_MAPS_FLAWED_MAP_H_
#define ASSAY_FLAWED_MAPS_FLAWED_MAP_H_

#include <atomic>
#include <cstdint>

#include "assay/subject/subject.h"
#include "tests/test_maps.h"

namespace assay::flawed {

// True for one call in 97, over all threads.
class now_and_then {
 public:
  bool operator()() { return calls_.fetch_add(1, std::memory_order_relaxed) % 97 == 96; }

 private:
  std::atomic<std::uint64_t> calls_{0};
};

template <class Sound>
class flawed_base : public Sound {
 protected:
  now_and_then now_and_then_;
};

// What a flawed map derives from. It hides the operation of sound_map that it gets wrong.
template <class Derived>
using flawed_map = subject::test_map<Derived, flawed_base<subject::sound_map>>;

// The same for a map that can be looked at as a whole.
template <class Derived>
using flawed_ordered_map =
    subject::test_map<Derived,
                      flawed_base<subject::sound_ordered_map<std::uint64_t, std::uint64_t>>>;

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_MAPS_FLAWED_MAP_H_
