// What the tests of all reclamation policies share.

#ifndef TESTS_RECLAIM_RECLAIM_TEST_NODES_H_
#define TESTS_RECLAIM_RECLAIM_TEST_NODES_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "assay/reclaim/epochs.h"
#include "assay/reclaim/garbage_sets.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"

namespace assay::reclaim {

// A node that knows how many of its kind there are, and spoils what it holds as it is freed.
class node {
 public:
  explicit node(std::uint64_t value = 0) : value_(value), complement_(~value) { ++live; }
  ~node() {
    value_ = 0;
    complement_ = 0;
    if (freed_ != nullptr) *freed_ = true;
    --live;
  }
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  bool intact() const { return value_ == ~complement_; }
  void tell(bool& freed) { freed_ = &freed; }

  // Not from operator new, so that tests can fail the policies' allocations only.
  static void* operator new(std::size_t size) { return std::malloc(size); }
  static void operator delete(void* memory) { std::free(memory); }

  static inline std::atomic<std::uint64_t> live{0};

 private:
  // Volatile, so that the compiler does not drop the destructor's stores.
  volatile std::uint64_t value_;
  volatile std::uint64_t complement_;
  bool* freed_ = nullptr;
};

template <class P>
constexpr bool frees = !std::is_same_v<P, none>;

template <class P>
class policy_test : public testing::Test {
 protected:
  void SetUp() override { node::live = 0; }
  // Under `none` all that is retired stays.
  void expect_live(std::uint64_t retired) { EXPECT_EQ(node::live, frees<P> ? 0 : retired); }
};
using policies = testing::Types<none, epochs, hazard_pointers, garbage_sets>;
using policies_for_everything = testing::Types<none, epochs, garbage_sets>;
template <class Participant>
void retire(Participant& me, std::uint64_t nodes) {
  for (std::uint64_t i = 0; i < nodes; ++i) {
    auto guard = me.pin();
    guard.retire(new node);
  }
}

// More than enough for a participant to look at the others many times.
constexpr std::uint64_t many = 20'000;

}  // namespace assay::reclaim

#endif  // TESTS_RECLAIM_RECLAIM_TEST_NODES_H_
