// Indices drawn from strips, with the numbers for the choice of operations, in blocks.
//
// Rejection takes a varying number of random numbers for an index. So whole blocks are drawn, and
// handed out in pieces of any size: the sequence depends on the random numbers alone. A block takes
// two numbers for each index that may be kept, and one more for each that is.

#ifndef ASSAY_WORKLOAD_STRIP_SOURCE_H_
#define ASSAY_WORKLOAD_STRIP_SOURCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "assay/random/engine.h"
#include "assay/workload/index_source.h"
#include "assay/workload/scramble.h"
#include "assay/workload/strips.h"

namespace assay::workload {

template <class Law>
class strip_source final : public index_source {
 public:
  strip_source(const Law& law, strip_table table, std::unique_ptr<random::number_source> numbers,
               const std::optional<scramble>& order)
      : law_(law), table_(std::move(table)), numbers_(std::move(numbers)), order_(order) {}

  void fill(std::span<std::uint64_t> indices, std::span<std::uint64_t> fractions) override {
    for (std::size_t filled = 0; filled < indices.size();) {
      if (next_ == drawn_) draw_block();
      const std::size_t length = std::min(indices.size() - filled, drawn_ - next_);
      std::copy_n(&indices_[next_], length, &indices[filled]);
      std::copy_n(&fractions_[next_], length, &fractions[filled]);
      next_ += length;
      filled += length;
    }
  }

  // Goes over to another law of the same kind; what was drawn from the last one is forgotten.
  void change(const Law& law, strip_table table) {
    law_ = law;
    table_ = std::move(table);
    next_ = drawn_ = 0;
  }

 private:
  static constexpr std::size_t block = 128;

  void draw_block() {
    std::array<std::uint64_t, 2 * block> numbers;
    numbers_->fill(numbers);
    next_ = 0;
    drawn_ = table_.draw(numbers, law_, indices_);
    numbers_->fill(std::span(fractions_).first(drawn_));
    if (order_) order_->apply(std::span(indices_).first(drawn_));
  }

  Law law_;
  strip_table table_;
  std::unique_ptr<random::number_source> numbers_;
  std::optional<scramble> order_;
  std::size_t next_ = 0;
  std::size_t drawn_ = 0;
  std::array<std::uint64_t, block> indices_;
  std::array<std::uint64_t, block> fractions_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_STRIP_SOURCE_H_
