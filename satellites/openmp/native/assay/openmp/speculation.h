// Going on instead of waiting (Bonnichsen 2016, section 4.1.2): a thread that would wait begins a
// transaction of the processor, remembers what must come true, and returns into the program. At its
// next call of the runtime it has come true, and the transaction commits: all that the thread did
// since happens then, after what it would have waited for. Or it has not, and the transaction
// aborts: nothing has happened, and the thread waits. The processor aborts it as well where it
// meets what another thread does meanwhile.
//
// Listing 4.2 does not forget what it waits for when it commits, and would commit again outside of
// a transaction; here it is forgotten. At most one barrier or taskwait is crossed: the next call of
// the runtime ends the transaction.
//
// A hazard (listing 4.3): a thread that runs ahead may read a pointer to a function that another
// thread has not set yet, jump through it to an instruction that commits transactions, and so make
// real what should not have happened. Only a program that uses transactions itself has such an
// instruction. It is found at the next call of the runtime and said on standard error. The program
// can turn running ahead off: everywhere by ASSAY_OMP_SPECULATION=off, at some
// places by ASSAY_OMP_WAIT_AT (places.h).

#ifndef ASSAY_OPENMP_SPECULATION_H_
#define ASSAY_OPENMP_SPECULATION_H_

#include <cstdint>

#include "assay/openmp/places.h"

namespace assay::omp {

// What a thread that runs ahead takes as having happened.
struct prediction {
  place* made_at = nullptr;  // null: the thread runs ahead of nothing
  bool (*came_true)(const prediction&) = nullptr;
  const void* of = nullptr;  // such as a barrier
  std::uint32_t number = 0;  // such as the epoch that must have ended
};

// True: the calling thread, whose prediction `mine` is from now on, runs ahead. False, perhaps
// after it did so in vain: it has to wait.
[[nodiscard]] bool run_ahead(prediction& mine, const prediction& of);

// By a thread that runs ahead, at its next call of the runtime. If the prediction has not come true
// it does not return, but the thread's last call of run_ahead() returns false.
void end_running_ahead(prediction& mine);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_SPECULATION_H_
