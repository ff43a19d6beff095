// The operations that there are, each with a name and a number.
//
// Those that no map need have are added as subjects register themselves, before main(): a subject
// names what it has, and mixes name what they want. What such an operation does is known where it
// is performed (assay/subject/operations.h); here is what drawing and timing need to know.

#ifndef ASSAY_WORKLOAD_OPERATIONS_H_
#define ASSAY_WORKLOAD_OPERATIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "assay/workload/mix.h"
#include "assay/workload/operation_batch.h"

namespace assay::workload {

struct operation_facts {
  // It matches [a-z][a-z0-9_]*.
  std::string name;
  bool rare;   // takes a microsecond at least, so that each may be timed at no cost that counts
  bool spans;  // is of the keys from one to another, of which the trial says how many they are

  friend bool operator==(const operation_facts&, const operation_facts&) = default;
};

// All of them, by number.
[[nodiscard]] std::span<const operation_facts> operations();
[[nodiscard]] const operation_facts& facts_of(operation kind);
[[nodiscard]] std::optional<operation> operation_named(std::string_view name);

// The number of an operation, a new one if nobody has named it yet. Throws std::logic_error if an
// operation with the name differs in `rare` or `spans`, if the name does not match, or if there are
// too many. Not while another thread is inside a function of this header.
operation add_operation(const operation_facts& facts);

[[nodiscard]] inline bool is_rare(operation kind) {
  return kind > operation::find && facts_of(kind).rare;
}

// Whether a mix has any that is rare, or that spans.
[[nodiscard]] bool any_rare(const mix& mix);
[[nodiscard]] bool any_spans(const mix& mix);

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_OPERATIONS_H_
