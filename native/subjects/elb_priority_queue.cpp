#include "assay/maps/elb_priority_queue.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/subject.h"
#include "elb_layout.h"

// A trial gives each value out once, so that no two elements are equal.
template <class Nodes>
struct unequal : Nodes {
  static constexpr unsigned tie_bits = 0;
};

// A queue of keys with values. If `IsNear`, any element of the first leaf is popped.
template <class K, class V, class Nodes, bool IsNear = false>
class queue_of {
  using layout = elb_layout<unequal<Nodes>, K>;
  using element = assay::elb::element<K, V, layout::key_bits, layout::value_bits>;
  using elements =
      assay::elb_priority_queue<element, std::less<>, assay::probed::hazard_pointers, layout>;

 public:
  class handle {
   public:
    explicit handle(elements& all) : in_(all.attach()) {}
    void push(K key, V value) { in_.push({key, value}); }
    [[gnu::always_inline]] std::optional<std::pair<K, V>> try_pop() {
      std::optional<element> popped;
      if constexpr (IsNear) {
        popped = in_.try_pop_near();
      } else {
        popped = in_.try_pop();
      }
      return popped ? std::optional(std::pair(popped->key, popped->value)) : std::nullopt;
    }

   private:
    typename elements::handle in_;
  };

  handle attach() { return handle(all_); }
  template <class Visit>
  void for_each(Visit&& visit) const {
    all_.for_each([&](const element& each) { visit(each.key, each.value); });
  }
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return all_.broken_invariant();
  }
  [[nodiscard]] assay::shape shape() const { return all_.shape(); }

 private:
  elements all_;
};

template <class K, class V>
using queue = queue_of<K, V, assay::elb_queue_settings>;
static const assay::subject::bag<queue> registered{
    "elb_priority_queue",
    "assay::elb_priority_queue: a lock-free ELB-tree whose leaves are joined late",
    "hazard pointers"};

template <class K, class V>
using narrow_queue = queue_of<K, V, assay::elb_narrow>;
static const assay::subject::bag<narrow_queue> registered_narrow{
    "elb_priority_queue_narrow",
    "elb_priority_queue with nodes of up to 16 entries or children, as in the paper",
    "hazard pointers"};

template <class K, class V>
using near_queue = queue_of<K, V, assay::elb_queue_settings, true>;
static const assay::subject::bag<near_queue> registered_near{
    "elb_priority_queue_near",
    "elb_priority_queue that pops one of the lowest, of which there are up to a node's capacity",
    "hazard pointers"};
