// Each thread walks through a part of the key range of its own, in order and over again.
//
// Thread i of n has the indices from floor(i * range / n) to before floor((i + 1) * range / n), and
// where that is not a key, as there are more threads than keys, the first of these.

#ifndef ASSAY_WORKLOAD_SEQUENTIAL_H_
#define ASSAY_WORKLOAD_SEQUENTIAL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "assay/random/engine.h"
#include "assay/workload/index_source.h"

namespace assay::workload {

class sequential final : public index_source {
 public:
  sequential(std::uint64_t range, thread_place place,
             std::unique_ptr<random::number_source> numbers)
      : begin_(start_of(range, place.index, place.threads)),
        end_(std::max(start_of(range, place.index + 1, place.threads), begin_ + 1)),
        next_(begin_),
        numbers_(std::move(numbers)) {}

  void fill(std::span<std::uint64_t> indices, std::span<std::uint64_t> fractions) override {
    for (auto& index : indices) {
      index = next_++;
      if (next_ == end_) next_ = begin_;
    }
    numbers_->fill(fractions);
  }

 private:
  static std::uint64_t start_of(std::uint64_t range, unsigned i, unsigned n) {
    __extension__ using uint128 = unsigned __int128;
    return static_cast<std::uint64_t>(uint128{range} * i / n);
  }

  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t next_;
  std::unique_ptr<random::number_source> numbers_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_SEQUENTIAL_H_
