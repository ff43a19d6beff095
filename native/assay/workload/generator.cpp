#include "assay/workload/generator.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/workload/index_source.h"
#include "assay/workload/mix.h"
#include "assay/workload/operations.h"
#include "assay/workload/uniform_lanes.h"

namespace assay::workload {
namespace {

using random::number_source;

// A stream of a generator's seed. The engine uses the seed itself.
constexpr std::uint64_t lengths_stream = 1;

// Uniform indices and fractions as two parts of one number.
class split_uniform final : public index_source {
 public:
  split_uniform(std::uint64_t range, bounding bounding, std::unique_ptr<number_source> numbers)
      : range_(range), bounding_(bounding), numbers_(std::move(numbers)) {}

  void fill(std::span<std::uint64_t> indices, std::span<std::uint64_t> fractions) override {
    numbers_->fill(fractions);
    if (bounding_ == bounding::multiply) {
      const uniform draw(range_);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const drawn parts = draw(fractions[i]);
        indices[i] = parts.index;
        fractions[i] = parts.fraction;
      }
    } else {
      // The remainder is of the low bits. What is left when it is taken away is a multiple of the
      // range, of the high ones, and as uniform as the range is small against 2^64.
      const std::uint64_t range = range_;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        indices[i] = fractions[i] % range;
        fractions[i] -= indices[i];
      }
    }
  }

 private:
  std::uint64_t range_;
  workload::bounding bounding_;
  std::unique_ptr<number_source> numbers_;
};

// Uniform indices from one number and fractions from the next.
class paired_uniform final : public index_source {
 public:
  paired_uniform(std::uint64_t range, bounding bounding, std::unique_ptr<number_source> numbers)
      : range_(range), bounding_(bounding), numbers_(std::move(numbers)) {}

  void fill(std::span<std::uint64_t> indices, std::span<std::uint64_t> fractions) override {
    std::array<std::uint64_t, 2 * operation_batch::capacity> pairs;
    numbers_->fill(std::span(pairs).first(2 * indices.size()));
    if (bounding_ == bounding::multiply) {
      const uniform draw(range_);
      const int shift = 64 - numbers_->bits();
      for (std::size_t i = 0; i < indices.size(); ++i) {
        indices[i] = draw(pairs[2 * i] << shift).index;
        fractions[i] = pairs[2 * i + 1] << shift;
      }
    } else {
      const std::uint64_t range = range_;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        indices[i] = pairs[2 * i] % range;
        fractions[i] = pairs[2 * i + 1];
      }
    }
  }

 private:
  std::uint64_t range_;
  workload::bounding bounding_;
  std::unique_ptr<number_source> numbers_;
};

std::unique_ptr<index_source> make_uniform(std::uint64_t range, const options& options,
                                           std::uint64_t seed) {
  if (options.draws == draws::one) {
    return std::make_unique<split_uniform>(range, options.bounding,
                                           random::make_wide_number_source(options.engine, seed));
  }
  auto numbers = random::make_number_source(options.engine, seed);
  if (const int bits = numbers->bits(); bits < 64 && range > std::uint64_t{1} << bits) {
    numbers = random::make_wide_number_source(options.engine, seed);
  }
  return std::make_unique<paired_uniform>(range, options.bounding, std::move(numbers));
}

// Any engine, any distribution, any mix.
class alignas(interference_bytes) general final : public generator {
 public:
  general(const key_space& space, const options& options, std::uint64_t seed,
          std::unique_ptr<index_source> indices)
      : space_(space),
        modulo_(options.draws == draws::two && options.bounding == bounding::modulo),
        choose_(options.mix, modulo_ ? operation_chooser::coarse_end : operation_chooser::fine_end),
        ranges_(any_spans(options.mix)),
        least_length_(options.lengths.least),
        length_(options.lengths.most - options.lengths.least + 1),
        lengths_(random::derive_seed(seed, lengths_stream)),
        indices_(std::move(indices)) {}

  void fill(operation_batch& batch, std::size_t size) override {
    std::array<std::uint64_t, operation_batch::capacity> fractions;
    const auto indices = std::span(batch.keys).first(size);
    const auto kinds = std::span(batch.kinds).first(size);
    indices_->fill(indices, std::span(fractions).first(size));
    choose(std::span(fractions).first(size), kinds);
    indices_->settle(kinds, indices);
    for (auto& key : indices) ++key;
    if (space_.layout() == key_layout::sparse) space_.spread().all(indices);
    if (ranges_) end_ranges(batch, size);
    batch.size = size;
  }

  void feedback(const operation_batch& batch, std::size_t performed) override {
    indices_->feedback(batch, performed);
  }
  [[nodiscard]] bool wants_feedback() const override { return indices_->wants_feedback(); }

 private:
  void choose(std::span<std::uint64_t> fractions, std::span<operation> kinds) const {
    const operation_chooser choose = choose_;  // a local copy stays in registers
    if (const auto only = choose.only()) {
      std::ranges::fill(kinds, *only);
      return;
    }
    for (auto& point : fractions) {
      point =
          modulo_ ? point % operation_chooser::coarse_end : point >> operation_chooser::fine_shift;
    }
    if (choose.has_three_kinds()) {
      for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = choose.of_three(fractions[i]);
    } else {
      choose.at(fractions, kinds);
    }
  }

  void end_ranges(operation_batch& batch, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (batch.kinds[i] <= operation::find || !facts_of(batch.kinds[i]).spans) continue;
      const std::uint64_t length = least_length_ + length_(lengths_()).index;
      const auto [first, last] = space_.from(batch.keys[i], length);
      batch.keys[i] = first;
      batch.last_keys[i] = last;
    }
  }

  key_space space_;
  bool modulo_;
  operation_chooser choose_;
  bool ranges_;
  std::uint64_t least_length_;
  uniform length_;
  random::splitmix64 lengths_;
  std::unique_ptr<index_source> indices_;
};

}  // namespace

std::unique_ptr<generator> make_generator(const key_space& space, const options& options,
                                          std::uint64_t seed, thread_place place) {
  if (uniform_lanes::draws(options)) {
    return std::make_unique<uniform_lanes>(space, options.mix, seed);
  }
  auto indices = options.keys.kind == distribution_kind::uniform
                     ? make_uniform(space.range(), options, seed)
                     : make_index_source(space, options, seed, place);
  return std::make_unique<general>(space, options, seed, std::move(indices));
}

}  // namespace assay::workload
