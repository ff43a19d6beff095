#include "assay/workload/latest.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace assay::workload {

latest::latest(double exponent, std::uint64_t range, thread_place place,
               std::unique_ptr<random::number_source> numbers)
    : exponent_(exponent),
      range_(range),
      place_(place),
      recencies_(range),
      recency_(zipf(exponent, range), strip_table(zipf(exponent, range).hats()), std::move(numbers),
               std::nullopt) {}

std::uint64_t latest::held() const {
  const std::uint64_t begun = std::min(begin(), end());
  return std::clamp<std::uint64_t>(end() - begun, 1, range_);
}

void latest::fill(std::span<std::uint64_t> indices, std::span<std::uint64_t> fractions) {
  // A law over more recencies, less those that are not held, is the law over those that are. A new
  // one, made in about 10 us, is due only when their number has halved twice, or doubled since.
  const std::uint64_t held = this->held();
  if (held > recencies_ || held < recencies_ / 4) {
    recencies_ = std::min(2 * held, range_);
    const zipf law(exponent_, recencies_);
    recency_.change(law, strip_table(law.hats()));
  }
  recency_.fill(indices, fractions);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    while (indices[i] >= held) recency_.fill(indices.subspan(i, 1), fractions.subspan(i, 1));
  }
}

void latest::settle(std::span<const operation> kinds, std::span<std::uint64_t> indices) {
  const std::uint64_t newest = end() - 1;
  std::uint64_t next = end() + place_.index;
  std::uint64_t oldest = begin() + place_.index;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::uint64_t number = newest - indices[i];
    if (kinds[i] == operation::insert) {
      number = next;
      next += place_.threads;
    } else if (kinds[i] == operation::erase) {
      number = oldest;
      oldest += place_.threads;
    }
    indices[i] = number % range_;
  }
}

void latest::feedback(const operation_batch& batch, std::size_t performed) {
  const auto done = std::span(batch.kinds).first(performed);
  inserted_ += static_cast<std::uint64_t>(std::ranges::count(done, operation::insert));
  erased_ += static_cast<std::uint64_t>(std::ranges::count(done, operation::erase));
  erased_ = std::min(erased_, (end() + place_.threads - 1) / place_.threads);
}

}  // namespace assay::workload
