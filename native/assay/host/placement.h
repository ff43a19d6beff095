// Where the threads of a trial run.
//
// A thread that the operating system may move brings the machine's other work, and its own cold
// caches, into the measurement. So a trial names a policy, every thread binds itself to one
// processor, and what the operating system then says of the thread is read back and reported:
//
//     const placement place({.kind = pinning::policy::cores_first}, 4);
//     // in thread i:
//     place.bind_this_thread(i);
//     bound_to();                                  // {2}
//
// A processor is what the operating system gives a number: a hardware thread.

#ifndef ASSAY_HOST_PLACEMENT_H_
#define ASSAY_HOST_PLACEMENT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace assay::host {

class topology;

// How threads are given processors. When there are more threads than processors, they wrap around.
struct pinning {
  enum class policy {
    none,         // threads are not bound
    compact,      // the next hardware thread, so that threads share cores, then caches, as early as
                  // possible
    scatter,      // as far apart as possible: NUMA nodes and packages in turn, then cores, then
                  // hardware threads
    cores_first,  // the next core, and second hardware threads only once every core has a thread
    list,         // thread i on processors[i modulo the length]
  };
  policy kind = policy::none;
  std::vector<unsigned> processors;  // for `list`: operating-system numbers
};

// Reads a pinning from its form in the trial protocol: a policy's name, or an array of processors.
// Throws bad_request.
pinning parse_pinning(const nlohmann::json& value);

// A pinning applied to this machine and the processors that this process may use. Threads may share
// one.
//
// Which of several equivalent processors a policy takes is arbitrary. With `exchange`, a seed, they
// are exchanged for each other at random: below each part of the machine, parts of it that are
// alike (in caches, in kinds of cores, in the processors that may be used, and in all below them)
// change places as wholes. So whatever two processors share, the two in their places share as well,
// as far as the tree of parts tells: distances between NUMA nodes are not looked at. Policy `none`
// binds no thread, and nothing is exchanged.
class placement {
 public:
  // Throws bad_request, naming the processor and what is allowed, if a listed processor
  // does not exist or this process may not use it, and if listed ones are to be exchanged.
  placement(const pinning& pinning, unsigned threads, std::optional<std::uint64_t> exchange = {});

  // The same on a given machine, for tests.
  placement(const pinning& pinning, unsigned threads, const topology& machine,
            std::optional<std::uint64_t> exchange = {});

  // Binds the calling thread to its processor; does nothing for policy `none`.
  // Throws std::system_error if the operating system refuses.
  void bind_this_thread(unsigned thread_index) const;

  // The processors in use, each once, in the order in which threads take them; for policy `none`
  // all that this process may use.
  const std::vector<unsigned>& processors() const { return processors_; }

 private:
  bool binds_;
  std::vector<unsigned> by_thread_;  // thread i takes entry i modulo the length
  std::vector<unsigned> processors_;
};

// Numbers of threads at which a curve over threads may bend under a policy, since threads then
// begin to share what they had to themselves. Past the number of allowed processors they share
// those.
struct sharing_marks {
  std::optional<unsigned> smt;   // the first of which two share a core, if that happens
  std::vector<unsigned> socket;  // those with which each further package gets its first thread
};
sharing_marks marks_of(pinning::policy kind, const topology& machine);

// Binds the calling thread to one processor. Throws std::system_error if the operating system
// refuses.
void bind_this_thread_to(unsigned processor);

// The processors that the operating system says the calling thread may run on, ascending.
std::vector<unsigned> bound_to();

// The processor that the calling thread was just seen on, where the operating system tells.
std::optional<unsigned> last_ran_on();

}  // namespace assay::host

#endif  // ASSAY_HOST_PLACEMENT_H_
