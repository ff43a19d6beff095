// How often each operation is drawn.

#ifndef ASSAY_WORKLOAD_MIX_H_
#define ASSAY_WORKLOAD_MIX_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "assay/workload/operation_batch.h"

namespace assay::workload {

// Percent of each operation; they add to 100.
struct mix {
  double insert;
  double erase;
  double find;
  double range = 0;
  double size = 0;
  double snapshot = 0;
  double iterate = 0;
  std::array<double, operation_kinds - named_operations> extra{};  // from the next number on

  // The share of the operation with any number.
  [[nodiscard]] constexpr double& share(operation kind) {
    const std::array<double*, named_operations> named{&insert, &erase,    &find,   &range,
                                                      &size,   &snapshot, &iterate};
    const auto number = static_cast<std::size_t>(kind);
    return number < named.size() ? *named[number] : extra[number - named.size()];
  }

  // In the order of `operation`.
  [[nodiscard]] constexpr std::array<double, operation_kinds> shares() const {
    std::array<double, operation_kinds> all{insert, erase, find, range, size, snapshot, iterate};
    std::ranges::copy(extra, all.begin() + named_operations);
    return all;
  }

  // The share of inserts among updates, which is the share of the keys that a map holds in its
  // steady state. A mix without updates says nothing about it; one half is what the field assumes.
  [[nodiscard]] constexpr double steady_share() const {
    const double updates = insert + erase;
    return updates == 0 ? 0.5 : insert / updates;
  }
};

// A mix as thresholds among the numbers below `end`: the operation is the number of thresholds that
// are not above the point drawn, which costs a comparison each and no branch. Most mixes have the
// first three kinds alone and two thresholds.
class operation_chooser {
 public:
  // The high half of a fraction: a share is right to 2^-32, or 0.00000002%, and one vector compares
  // twice as many as of whole fractions. 100% is a number too, so that an operation at 0% is never
  // drawn.
  static constexpr std::uint64_t fine_end = std::uint64_t{1} << 32;
  static constexpr int fine_shift = 32;
  // Points as Setbench draws them when it takes a number modulo: millionths of a percent.
  static constexpr std::uint64_t coarse_end = 100'000'000;

  explicit constexpr operation_chooser(const mix& mix, std::uint64_t end = fine_end) : end_(end) {
    const auto shares = mix.shares();
    std::size_t last = shares.size() - 1;
    while (last > 0 && shares[last] == 0) --last;  // what rounding leaves falls to this one
    last_ = last;
    std::uint64_t from = 0;
    for (std::size_t kind = 0; kind < from_.size(); ++kind) {
      const double part = shares[kind] / 100 * static_cast<double>(end);
      from = kind >= last ? end : std::min(end, from + static_cast<std::uint64_t>(part));
      from_[kind] = from;
    }
  }

  // The operation that is drawn whatever the point, if there is one.
  [[nodiscard]] constexpr std::optional<operation> only() const {
    const auto kind = static_cast<std::size_t>(std::ranges::count(from_, std::uint64_t{0}));
    if (kind < from_.size() && from_[kind] != end_) return std::nullopt;
    return static_cast<operation>(kind);
  }

  [[nodiscard]] constexpr bool has_three_kinds() const { return from_[2] == end_; }
  [[nodiscard]] constexpr std::uint64_t erase_from() const { return from_[0]; }
  [[nodiscard]] constexpr std::uint64_t find_from() const { return from_[1]; }

  // The operation at `point` < end, if there are but three kinds.
  [[nodiscard]] constexpr operation of_three(std::uint64_t point) const {
    return static_cast<operation>(static_cast<unsigned>(point >= from_[0]) +
                                  static_cast<unsigned>(point >= from_[1]));
  }

  // The operation at `point` < end.
  [[nodiscard]] constexpr operation at(std::uint64_t point) const {
    unsigned kind = 0;
    for (const std::uint64_t from : thresholds()) kind += static_cast<unsigned>(point >= from);
    return static_cast<operation>(kind);
  }
  // The same of many, threshold after threshold, which vectors do.
  constexpr void at(std::span<const std::uint64_t> points, std::span<operation> kinds) const {
    std::ranges::fill(kinds, operation::insert);
    for (const std::uint64_t from : thresholds()) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        kinds[i] = static_cast<operation>(static_cast<unsigned>(kinds[i]) +
                                          static_cast<unsigned>(points[i] >= from));
      }
    }
  }

 private:
  // Thresholds for the kinds up to the last that is drawn.
  [[nodiscard]] constexpr std::span<const std::uint64_t> thresholds() const {
    return std::span(from_).first(last_);
  }

  std::uint64_t end_;
  std::size_t last_ = 0;
  std::array<std::uint64_t, operation_kinds - 1> from_{};  // of each kind but the first
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_MIX_H_
