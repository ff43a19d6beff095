#include "assay/judge/bits.h"

#include <algorithm>
#include <span>

namespace assay::judge {
namespace {

constexpr std::size_t block = 4096;  // with what is made of it, it stays in the second-level cache
constexpr std::uint64_t points = 400;

// A block of values behind the last ones of the block before it, which lags reach back to.
template <class T>
class trailing {
 public:
  [[nodiscard]] std::span<T> next(std::size_t size) {
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(size_), lags, values_.begin());
    size_ = size;
    return std::span<T>(values_).subspan(lags, size);
  }

  // The value `lag` before value `i` of the block.
  [[nodiscard]] const T* before(std::size_t lag) const { return values_.data() + lags - lag; }

 private:
  std::array<T, lags + block> values_{};
  std::size_t size_ = 0;
};

// Eight sums, as the compiler may not add doubles in another order by itself: 0.3 instead of 1.3 ns
// a product.
double sum_of_products(const double* a, const double* b, std::size_t size) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= size; i += sums.size()) {
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += a[i + j] * b[i + j];
  }
  for (; i < size; ++i) sums[0] += a[i] * b[i];
  double sum = 0;
  for (const double each : sums) sum += each;
  return sum;
}

// Those of `bits` in which no number of `sample` differs from the one `period` before it.
std::uint64_t following(std::span<const std::uint64_t> sample, std::size_t period,
                        std::uint64_t bits) {
  for (std::size_t i = period; i < sample.size() && bits != 0; ++i)
    bits &= ~(sample[i] ^ sample[i - period]);
  return bits;
}

std::array<std::uint64_t, 64> find_periods(std::span<const std::uint64_t> sample, int bits) {
  constexpr std::size_t longest_scanned = 4096;
  std::array<std::uint64_t, 64> periods{};
  std::uint64_t without = ~std::uint64_t{0} >> (64 - bits);  // a period so far
  const auto look_for = [&](std::size_t period) {
    const std::uint64_t found = following(sample, period, without);
    for (std::size_t bit = 0; bit < periods.size(); ++bit) {
      if (found >> bit & 1) periods[bit] = period;
    }
    without &= ~found;
  };
  const std::size_t longest = sample.size() / 2;
  for (std::size_t period = 1; period <= std::min(longest_scanned, longest); ++period)
    look_for(period);
  for (std::size_t period = 2 * longest_scanned; period <= longest; period *= 2) look_for(period);
  return periods;
}

}  // namespace

bit_statistics examine_bits(random::number_source& source, std::uint64_t numbers) {
  constexpr std::uint64_t sampled = std::uint64_t{1} << 21;
  bit_statistics found;
  found.thorough = std::min(numbers, most_thorough);
  const int bits = source.bits();
  const double scale = 1 / (static_cast<double>(~std::uint64_t{0} >> (64 - bits)) + 1);

  bit_counter ones;
  bit_counter changes;
  std::array<bit_counter, lags> differing;
  trailing<std::uint64_t> drawn;
  trailing<double> whole;
  trailing<double> low;
  std::vector<std::uint64_t> sample;
  sample.reserve(std::min(numbers, sampled));

  std::uint64_t done = 0;
  const std::uint64_t at_most = std::min(points, numbers);
  for (std::uint64_t point = 1; point <= at_most; ++point) {
    const std::uint64_t until = numbers / at_most * point + numbers % at_most * point / at_most;
    while (done < until) {
      // A block ends where a point or the thorough part does.
      const std::uint64_t end = done < found.thorough ? std::min(until, found.thorough) : until;
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(end - done, block));
      const std::span<std::uint64_t> x = drawn.next(size);
      source.fill(x);
      ones.add(size, [&](std::size_t i) { return x[i]; });
      const auto pairs_at = [&](std::size_t lag) {
        return done >= lag ? 0 : std::min<std::size_t>(lag - done, size);
      };
      if (const std::size_t from = pairs_at(1); from < size) {
        const std::uint64_t* earlier = drawn.before(1) + from;
        changes.add(size - from, [&](std::size_t i) { return x[from + i] ^ earlier[i]; });
      }
      if (done < sampled) {
        const auto kept =
            static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(sampled - done, size));
        sample.insert(sample.end(), x.begin(), x.begin() + kept);
      }
      if (done < found.thorough) {
        const std::span<double> u = whole.next(size);
        const std::span<double> v = low.next(size);
        for (std::size_t i = 0; i < size; ++i) {
          u[i] = (static_cast<double>(x[i]) + 0.5) * scale - 0.5;
          v[i] = static_cast<double>(x[i] & 0xff) - 127.5;
        }
        for (std::size_t lag = 1; lag <= lags; ++lag) {
          const std::size_t from = pairs_at(lag);
          const std::uint64_t* earlier = drawn.before(lag) + from;
          differing[lag - 1].add(size - from,
                                 [&](std::size_t i) { return x[from + i] ^ earlier[i]; });
          found.compared[lag - 1] += size - from;
          found.products[lag - 1] +=
              sum_of_products(u.data() + from, whole.before(lag) + from, size - from);
          found.low_products[lag - 1] +=
              sum_of_products(v.data() + from, low.before(lag) + from, size - from);
        }
      }
      done += size;
    }
    found.at.push_back(done);
    found.ones.push_back(ones.counts());
  }
  found.first.assign(
      sample.begin(),
      sample.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(1000, sample.size())));
  found.changes = changes.counts();
  for (std::size_t lag = 0; lag < lags; ++lag) found.differing[lag] = differing[lag].counts();
  found.periods = find_periods(sample, bits);
  return found;
}

}  // namespace assay::judge
