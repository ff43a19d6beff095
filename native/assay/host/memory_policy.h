// On which NUMA node new memory is placed: as the process was started, on the node of the thread
// that first touches it ("local"), or on all nodes in turn ("interleave"). A map that one thread
// fills and others read is another measurement under each.
//
//     bind_memory(memory_policy::interleave);   // before threads are started
//     memory_policy_in_use();                   // "interleave"

#ifndef ASSAY_HOST_MEMORY_POLICY_H_
#define ASSAY_HOST_MEMORY_POLICY_H_

#include <string>

namespace assay::host {

enum class memory_policy { local, interleave };

// Places the memory that the calling thread, and every thread that it starts from now on, touches
// first; what is placed already stays. On a machine of one node both policies come to the same.
// Throws std::system_error if the operating system refuses, and std::runtime_error if it does not
// keep to it when asked afterwards.
void bind_memory(memory_policy policy);

// What the operating system says of the calling thread: "local", "interleave", or in hwloc's words
// any other. Throws std::system_error if it does not tell.
[[nodiscard]] std::string memory_policy_in_use();

}  // namespace assay::host

#endif  // ASSAY_HOST_MEMORY_POLICY_H_
