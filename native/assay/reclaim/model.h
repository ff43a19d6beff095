// What the models of all policies share: nodes whose freeing relacy sees, and the verdict.

#ifndef ASSAY_RECLAIM_MODEL_H_
#define ASSAY_RECLAIM_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <new>

#include "assay/reclaim/model_atomics.h"

namespace assay::reclaim {

// The nodes of one schedule. Their memory outlives them, so that a thread that reads a freed one
// meets its content's last write: relacy reports a read that is not ordered with it, and
// expect_alive one that is.
class model_nodes {
 public:
  class node {
   public:
    explicit node(rl::var<int>& content) : content_(&content) { (*content_)($) = alive; }
    ~node() { (*content_)($) = freed; }
    void expect_alive() const { RL_ASSERT((*content_)($) == alive); }

    static void operator delete(void*) {}

   private:
    static constexpr int alive = 1;
    static constexpr int freed = 2;
    rl::var<int>* content_;
  };

  node* make() {
    const std::size_t next = made_++;
    return ::new (&memory_[next]) node(contents_[next]);
  }

 private:
  static constexpr std::size_t most = 16;

  struct alignas(node) place {
    std::array<std::byte, sizeof(node)> bytes;
  };
  std::array<place, most> memory_;
  std::array<rl::var<int>, most> contents_;
  std::size_t made_ = 0;
};

// Runs schedules at random; a model is right when relacy finds nothing wrong, or the planted
// mistake.
template <class Model>
int judge(std::size_t schedules) {
  rl::test_params parameters;
  parameters.search_type = rl::random_scheduler_type;
  parameters.iteration_count = static_cast<rl::iteration_t>(schedules);
  const bool passed = rl::simulate<Model>(parameters);
  if (passed == (planted == PLANTED_none)) return 0;
  std::puts(passed ? "the planted mistake was not found" : "the model fails");
  return 1;
}

}  // namespace assay::reclaim

#endif  // ASSAY_RECLAIM_MODEL_H_
