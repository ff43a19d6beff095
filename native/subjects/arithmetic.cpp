// A difference that is known beforehand, to show that an experiment finds it: two subjects that
// hold nothing and differ in the number of their steps alone.

#include <cstdint>
#include <optional>

#include "assay/subject/subject.h"

// Each operation is `Steps` times one multiplication and one addition, each of which needs the
// result of the last, so that no processor can do two at a time.
template <unsigned Steps>
class arithmetic {
 public:
  static constexpr bool holds_nothing = true;

  class handle {
   public:
    bool insert(std::uint64_t key, std::uint64_t value) { return steps(key ^ value) != 0; }
    bool erase(std::uint64_t key) { return steps(key) != 0; }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      steps(key);
      return std::nullopt;
    }

   private:
    // Not inlined, so that both subjects run the same loop, one constant apart.
    [[gnu::noinline]] static std::uint64_t steps(std::uint64_t x) {
      for (unsigned i = 0; i < Steps; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(x));  // the compiler may not take steps together
      }
      return x;
    }
  };

  handle attach() { return {}; }

  template <class Visit>
  void for_each(Visit&&) {}
};

static const assay::subject<arithmetic<1000>> registered_1000{
    "arithmetic_1000",
    "no map at all: 1,000 dependent steps of arithmetic (multiply, add) an operation", "nothing"};
static const assay::subject<arithmetic<1030>> registered_1030{
    "arithmetic_1030",
    "arithmetic_1000 with 1,030 steps: 3% more of the same work, apart from the trial loop's own",
    "nothing"};
