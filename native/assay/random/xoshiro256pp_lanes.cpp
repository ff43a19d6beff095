#include "assay/random/xoshiro256pp_lanes.h"

#include <algorithm>

#include "assay/random/xoshiro256pp_vectors.h"

namespace assay::random {
namespace {

using words = xoshiro256pp_lanes::words;
constexpr std::size_t lanes = xoshiro256pp_lanes::lanes;

void fill_scalar(words& state, std::uint64_t* numbers, std::size_t steps) {
  // One lane after the other, so that its state stays in registers.
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    xoshiro256pp engine({state[0][lane], state[1][lane], state[2][lane], state[3][lane]});
    for (std::size_t step = 0; step < steps; ++step) numbers[step * lanes + lane] = engine();
    for (std::size_t word = 0; word < 4; ++word) state[word][lane] = engine.state()[word];
  }
}

#if defined(__x86_64__)
ASSAY_AVX2 void fill_avx2(words& state, std::uint64_t* numbers, std::size_t steps) {
  xoshiro256pp_avx2 low(state, 0);
  xoshiro256pp_avx2 high(state, lanes / 2);
  auto* to = reinterpret_cast<__m256i*>(numbers);
  for (std::size_t step = 0; step < steps; ++step) {
    _mm256_storeu_si256(to++, low.next());
    _mm256_storeu_si256(to++, high.next());
  }
  low.store(state, 0);
  high.store(state, lanes / 2);
}

ASSAY_AVX512 void fill_avx512(words& state, std::uint64_t* numbers, std::size_t steps) {
  xoshiro256pp_avx512 engine(state);
  for (std::size_t step = 0; step < steps; ++step) {
    _mm512_storeu_si512(numbers + step * lanes, engine.next());
  }
  engine.store(state);
}
#endif

}  // namespace

xoshiro256pp_lanes::xoshiro256pp_lanes(const xoshiro256pp& first, host::instruction_set best)
    : fill_(fill_scalar) {
#if defined(__x86_64__)
  if (best == host::instruction_set::avx2) fill_ = fill_avx2;
  if (best == host::instruction_set::avx512) fill_ = fill_avx512;
#else
  static_cast<void>(best);
#endif
  xoshiro256pp engine = first;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    put(lane, engine);
    engine.jump();
  }
}

void xoshiro256pp_lanes::fill(std::span<std::uint64_t> numbers) {
  std::size_t filled = 0;
  if (const std::size_t steps = numbers.size() / lanes; steps > 0) {
    fill_(in_order(), numbers.data(), steps);
    filled = steps * lanes;
  }
  for (auto& number : numbers.subspan(filled)) number = (*this)();
}

words& xoshiro256pp_lanes::in_order() {
  if (next_ != 0) {
    for (auto& word : words_) {
      std::ranges::rotate(word, word.begin() + static_cast<std::ptrdiff_t>(next_));
    }
    next_ = 0;
  }
  return words_;
}

}  // namespace assay::random
