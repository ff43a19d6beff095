// What a trial does with the probes of the code that it measures (see probe.h): it says when each
// thread records, and turns into figures what they recorded.
//
//     assay::probe::check_declared();       // before anything is measured
//     // in each thread:
//     assay::probe::block own;              // allocates
//     assay::probe::begin_recording(std::move(own));
//     ...                                   // the measured interval
//     own = assay::probe::end_recording();
//     // afterwards, in any thread:
//     for (const auto& each : assay::probe::report(blocks)) { ... each.name, each.sum ... }
//
// Only the thread itself writes to its block, without atomic operations; whoever reads it has it
// from that thread.

#ifndef ASSAY_PROBE_RECORDING_H_
#define ASSAY_PROBE_RECORDING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/probe/probe.h"

namespace assay::probe {

// Room for what one thread records into all probes that the program has when the block is made;
// probes that come later make no difference to it. The system gives it memory as it is used, so
// that a series that nobody records into takes none.
class block {
 public:
  block();  // Throws std::bad_alloc.

  // Moved from, a block has no room.
  block(block&& other) noexcept;
  block& operator=(block&& other) noexcept;
  ~block() = default;

  // The words of the probe whose first is given; none if the block has no room for it.
  std::span<const std::uint64_t> words(std::uint32_t first, std::uint32_t number) const;

 private:
  friend void begin_recording(block fresh);
  struct freer {
    void operator()(void* memory) const;
  };

  std::unique_ptr<void, freer> memory_;
  std::uint64_t* words_;
  std::uint32_t number_;
};

// From now on, the calling thread records into `fresh`. Throws std::logic_error if it already
// records.
void begin_recording(block fresh = block());

// The calling thread records no longer; returns what it recorded. A thread that ends without this
// call loses its record. Throws std::logic_error if it does not record.
block end_recording();

// Throws std::logic_error, naming both places, if two declarations have one name.
void check_declared();

const char* to_string(kind kind);

struct bucket {
  std::uint64_t low;  // the least and the largest value that belong to it
  std::uint64_t high;
  std::uint64_t count;
};

// What came of a probe in all threads.
struct recorded {
  std::string name;
  probe::kind kind;
  std::string description;
  std::string unit;  // empty if it has none

  // For each block: what a counter counted, the largest value of a maximum, the mean of a
  // histogram, a series or a summary. None where nothing was recorded, unless it is a counter,
  // which says 0.
  std::vector<std::optional<double>> threads;

  std::uint64_t count = 0;  // of values recorded; of a counter: what it counted

  // For a histogram, a series and a summary: over all its values. For a counter and a maximum: over
  // the threads' values above. Without values there is no mean, least or largest.
  double sum = 0;
  std::optional<double> mean;
  std::optional<double> min;
  std::optional<double> max;

  // The values' sample variance, for a series and a summary with two values at least.
  std::optional<double> variance;

  // For a histogram: from the first that is not empty to the last. The one above the last linear
  // bucket ends with the largest value.
  std::vector<bucket> buckets;

  // For a series: the values that each block kept. `count` is how many there were altogether.
  std::vector<std::vector<std::uint64_t>> values;
};

// Every probe of the program, by name, and what these blocks say of it. Throws as check_declared.
std::vector<recorded> report(std::span<const block> blocks);

}  // namespace assay::probe

#endif  // ASSAY_PROBE_RECORDING_H_
