// How often each operation is drawn.

#ifndef ASSAY_WORKLOAD_MIX_H_
#define ASSAY_WORKLOAD_MIX_H_

#include <cstdint>
#include <optional>

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

  // The share of inserts among updates, which is the share of the keys that a map holds in its
  // steady state. A mix without updates says nothing about it; one half is what the field assumes.
  [[nodiscard]] constexpr double steady_share() const {
    const double updates = insert + erase;
    return updates == 0 ? 0.5 : insert / updates;
  }
};

// A mix as two thresholds, so that a draw costs two comparisons and no branch. They divide the
// numbers of 63 bits, not 64: 100% is then a number too, and an operation at 0% is never drawn.
class operation_chooser {
 public:
  static constexpr std::uint64_t end = std::uint64_t{1} << 63;

  explicit constexpr operation_chooser(const mix& mix)
      : erase_from_(mix.erase == 0 && mix.find == 0 ? end : part(mix.insert)),
        find_from_(mix.find == 0    ? end
                   : mix.erase == 0 ? erase_from_
                                    : erase_from_ + part(mix.erase)) {}

  // The operation that is drawn whatever the fraction, if there is one.
  [[nodiscard]] constexpr std::optional<operation> only() const {
    if (erase_from_ == end) return operation::insert;
    if (erase_from_ == 0 && find_from_ == end) return operation::erase;
    if (find_from_ == 0) return operation::find;
    return std::nullopt;
  }

  // The operation for `fraction`, a uniform 64-bit number.
  [[nodiscard]] constexpr operation operator()(std::uint64_t fraction) const {
    const std::uint64_t point = fraction >> 1;
    return static_cast<operation>(static_cast<unsigned>(point >= erase_from_) +
                                  static_cast<unsigned>(point >= find_from_));
  }

 private:
  static constexpr std::uint64_t part(double percent) {
    return static_cast<std::uint64_t>(percent / 100 * static_cast<double>(end));
  }

  std::uint64_t erase_from_;
  std::uint64_t find_from_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_MIX_H_
