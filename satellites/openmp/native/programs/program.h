// What the programs share: their arguments, the time that they print, and how they fail.

#ifndef ASSAY_OPENMP_PROGRAM_H_
#define ASSAY_OPENMP_PROGRAM_H_

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace program {

// Whole numbers, each with a name for messages and a value where it is left out.
class arguments {
 public:
  arguments(int count, const char* const* words) : words_(words), count_(count) {}

  long next(const char* name, long otherwise, long least, long most) {
    if (at_ >= count_) return otherwise;
    const std::string_view word = words_[at_++];
    long value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < least || value > most) {
      std::fprintf(stderr, "%s: %s: give a whole number from %ld to %ld, not \"%s\"\n", words_[0],
                   name, least, most, words_[at_ - 1]);
      std::_Exit(2);
    }
    return value;
  }

  void end() const {
    if (at_ >= count_) return;
    std::fprintf(stderr, "%s: it takes %d arguments at most; leave out \"%s\"\n", words_[0],
                 at_ - 1, words_[at_]);
    std::_Exit(2);
  }

 private:
  const char* const* const words_;
  const int count_;
  int at_ = 1;
};

// Seconds that `work` takes.
template <class Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Says whether the result was right, and if so how long it took; main() returns it.
inline int finish(bool right, double seconds) {
  if (!right) {
    std::puts("the result is wrong");
    return 1;
  }
  std::printf("seconds=%.9f\n", seconds);
  return 0;
}

// A generator whose every state gives good numbers, and is cheap to make (Steele et al. 2014,
// splitmix64): each village, patient and node of a tree has its own.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  // From 0 to limit - 1; as likely as 2^64 allows.
  std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }
  // From 0 to 1.
  double fraction() noexcept { return static_cast<double>(next() >> 11U) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace program

#endif  // ASSAY_OPENMP_PROGRAM_H_
