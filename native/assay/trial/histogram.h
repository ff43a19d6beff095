// How often which duration was seen, to three significant digits.
//
//     histogram durations;
//     durations.add(1234);
//     all.merge(durations);
//     all.percentile(99.9);      // the duration that 99.9% of all did not exceed
//
// Buckets are linear within powers of two: each duration below 2048 ns has one of its own, and from
// there on each power of two is divided into 1024, so that a bucket is nowhere wider than 1/1024 of
// the durations in it. What is said of a duration is thus wrong by less than 0.1%. (The layout is
// that of Tene's HdrHistogram with 3 digits.) Adding takes a shift and an increment; 35,000 buckets
// take 0.3 MB whatever is added, of which the processor's cache holds the few hundred in use.

#ifndef ASSAY_TRIAL_HISTOGRAM_H_
#define ASSAY_TRIAL_HISTOGRAM_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::trial {

class histogram {
 public:
  // About 2.4 hours, longer than trials are. What is longer counts as this; `max` knows it exactly.
  static constexpr std::uint64_t longest = (std::uint64_t{1} << 43) - 1;

  // The durations that cannot be told apart.
  struct bucket {
    std::uint64_t lowest;
    std::uint64_t highest;
    std::uint64_t count;

    friend bool operator==(const bucket&, const bucket&) = default;
  };

  histogram() : counts_(index_of(longest) + 1) {}  // all memory that it will ever have

  void add(std::uint64_t duration) {
    ++counts_[index_of(std::min(duration, longest))];
    ++count_;
    sum_ += duration;
    max_ = std::max(max_, duration);
  }

  void merge(const histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }

  // Of what was added, exactly, where it adds to less than 584 years; 0 of nothing. A clock that
  // steps by 10 ns tells durations of 40 ns and 43 ns apart only in the mean.
  [[nodiscard]] double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }

  // The least duration, to the bucket, that at least `percent` > 0 of all did not exceed; 0 if
  // there are none.
  [[nodiscard]] std::uint64_t percentile(double percent) const {
    const auto rank =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(count_) * percent / 100));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size() && count_ > 0; ++i) {
      seen += counts_[i];
      if (seen >= rank) return std::min(lowest_of(i + 1) - 1, max_);
    }
    return max_;
  }

  // Those that hold anything, in ascending order.
  [[nodiscard]] std::vector<bucket> buckets() const {
    std::vector<bucket> filled;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] > 0) filled.push_back({lowest_of(i), lowest_of(i + 1) - 1, counts_[i]});
    }
    return filled;
  }

 private:
  static constexpr int digits = 10;  // binary ones after the first that are kept

  // A number of n > 11 bits loses the last n - 11. The buckets of each power of two follow those of
  // the one before, of which the first 2048 numbers are two.
  static constexpr std::size_t index_of(std::uint64_t duration) {
    const auto bits = static_cast<int>(std::bit_width(duration));
    const int lost = std::max(bits - (digits + 1), 0);
    return (static_cast<std::size_t>(lost) << digits) + (duration >> lost);
  }

  static constexpr std::uint64_t lowest_of(std::size_t index) {
    const std::size_t lost = index < (2U << digits) ? 0 : (index >> digits) - 1;
    return (index - (lost << digits)) << lost;
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_HISTOGRAM_H_
