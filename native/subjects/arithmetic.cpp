// Differences that are known beforehand, to show that an experiment finds them: two subjects that
// hold nothing and differ in the number of their steps alone, and one that has to warm up.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "assay/subject/subject.h"

// `Steps` times one multiplication and one addition, each of which needs the result of the last, so
// that no processor can do two at a time. Not inlined, so that all subjects run the same loop, a
// constant apart.
template <unsigned Steps>
[[gnu::noinline]] static std::uint64_t steps(std::uint64_t x) {
  for (unsigned i = 0; i < Steps; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));  // the compiler may not take steps together
  }
  return x;
}

template <unsigned Steps>
class arithmetic {
 public:
  static constexpr bool holds_nothing = true;

  class handle {
   public:
    bool insert(std::uint64_t key, std::uint64_t value) { return steps<Steps>(key ^ value) != 0; }
    bool erase(std::uint64_t key) { return steps<Steps>(key) != 0; }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      steps<Steps>(key);
      return std::nullopt;
    }
  };

  handle attach() { return {}; }

  template <class Visit>
  void for_each(Visit&&) {}
};

// Does the steps for a key once, and from then on knows that it has: what fills a table as it goes
// is slow until it is full.
class arithmetic_once {
 public:
  static constexpr bool holds_nothing = true;

  class handle {
   public:
    explicit handle(arithmetic_once& all) : all_(all) {}
    bool insert(std::uint64_t key, std::uint64_t /*value*/) { return all_.is_new(key); }
    bool erase(std::uint64_t key) { return all_.is_new(key); }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      all_.is_new(key);
      return std::nullopt;
    }

   private:
    arithmetic_once& all_;
  };

  handle attach() { return handle(*this); }

  template <class Visit>
  void for_each(Visit&&) {}

 private:
  // Relaxed: an entry says nothing about other memory, and a thread that misses one does the steps
  // again.
  bool is_new(std::uint64_t key) {
    std::atomic<std::uint64_t>& entry = done_[key % done_.size()];
    if (entry.load(std::memory_order_relaxed) == key) return false;
    steps<1000>(key);
    entry.store(key, std::memory_order_relaxed);
    return true;
  }

  std::array<std::atomic<std::uint64_t>, std::size_t{1} << 17> done_{};  // no key is 0
};

static const assay::subject::map<arithmetic<1000>> registered_1000{
    "arithmetic_1000",
    "no map at all: 1,000 dependent steps of arithmetic (multiply, add) an operation", "nothing"};
static const assay::subject::map<arithmetic<1030>> registered_1030{
    "arithmetic_1030",
    "arithmetic_1000 with 1,030 steps: 3% more of the same work, apart from the trial loop's own",
    "nothing"};
static const assay::subject::map<arithmetic_once> registered_once{
    "arithmetic_once",
    "arithmetic_1000 that does its steps once for each key and remembers it: it has to warm up",
    "nothing"};
