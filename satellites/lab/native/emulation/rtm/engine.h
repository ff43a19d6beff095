// What the preloaded library and the engine know of each other.
//
// The engine runs in the program's own threads, but with libraries of its own, its C library too
// (dlmopen): so that what it allocates while it runs a transaction does not change the heap that
// the transaction reads.

#ifndef ASSAY_EMULATION_RTM_ENGINE_H_
#define ASSAY_EMULATION_RTM_ENGINE_H_

#include <link.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace assay::emulation {

struct stack_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// What the engine needs from the program's side.
struct program_side {
  // Called in each thread before its first transaction: has end_thread() called when it ends.
  void (*new_thread)();
  // dl_iterate_phdr(3) of the program: calls `visit` with each of the files that its code is from.
  int (*for_each_object)(int (*visit)(dl_phdr_info* object, std::size_t bytes, void* with),
                         void* with);
  // The stack of the calling thread, from its lowest address to behind its highest.
  stack_range (*this_stack)();
};

// What the preloaded library calls, by the names in engine_entry.
struct engine_side {
  bool (*report)();      // writes what came of all transactions; false if that is lost
  void (*end_thread)();  // frees what the calling thread has
  int reserved_signal;   // which threads are stopped by
  // Whether it handles a signal itself: no thread may block that.
  bool (*is_taken)(int signal);
  // The program's own action on such a signal, for those that the engine does not cause. As
  // sigaction(2).
  int (*action)(int signal, const struct sigaction* wanted, struct sigaction* before);
};

// Returns null if it cannot start, having said why.
using start_engine = const engine_side*(const program_side* program);
inline constexpr const char* engine_entry = "assay_rtm_start_engine";

}  // namespace assay::emulation

#endif  // ASSAY_EMULATION_RTM_ENGINE_H_
