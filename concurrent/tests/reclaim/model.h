// What the models of all policies share: nodes whose freeing relacy sees.

#ifndef TESTS_RECLAIM_MODEL_H_
#define TESTS_RECLAIM_MODEL_H_

#include <array>
#include <cstddef>
#include <new>

#include "tests/base/model_atomics.h"

namespace assay::reclaim {

// The nodes of one schedule. Their memory outlives them, so that a thread that reads a freed one
// meets its content's last write: relacy reports a read that is not ordered with it, and
// expect_alive one that is.
class model_nodes {
 public:
  class node {
   public:
    explicit node(rl::var<int>& content, const atomic<int>& elsewhere)
        : content_(&content), elsewhere_(&elsewhere) {
      (*content_)($) = alive;
    }
    ~node() { (*content_)($) = freed; }
    void expect_alive() const {
      // Relacy counts a thread's time in atomic operations only. Without one here it would take
      // this read for one before a fence that other threads made this one pass meanwhile.
      elsewhere_->load(memory_order_relaxed);
      RL_ASSERT((*content_)($) == alive);
    }

    static void operator delete(void*) {}

   private:
    static constexpr int alive = 1;
    static constexpr int freed = 2;
    rl::var<int>* content_;
    const atomic<int>* elsewhere_;
  };

  node* make() {
    const std::size_t next = made_++;
    return ::new (&memory_[next]) node(contents_[next], elsewhere_);
  }

 private:
  static constexpr std::size_t most = 16;

  struct alignas(node) place {
    std::array<std::byte, sizeof(node)> bytes;
  };
  std::array<place, most> memory_;
  std::array<rl::var<int>, most> contents_;
  atomic<int> elsewhere_{0};
  std::size_t made_ = 0;
};

}  // namespace assay::reclaim

#endif  // TESTS_RECLAIM_MODEL_H_
