// A priority queue that many threads use at once, without locks: an elb_tree whose entries are the
// elements (Bonnichsen 2016, sections 5.4.3 and 5.5.3).
//
//     assay::elb_priority_queue<std::uint32_t> events;       // the least first
//
//     auto handle = events.attach();                         // in each thread
//     handle.push(30);
//     handle.push(10);
//     handle.push(10);                                       // equal elements are kept apart
//     handle.try_pop();                                      // std::optional(10)
//
//     events.size();                                         // 2; at rest: while no call runs
//
// std::greater<> as the second parameter pops the greatest first. A key with a value is an element
// in the order of keys and then of values: elb_priority_queue<elb::element<K, V>>.
//
// Elements
// --------
// An element is packed into a word, together with a number that tells it from equal ones (its tie
// bits). Elements of up to 32 bits make words of 64 bits; others make words of 128, which take
// twice the memory and more time. Integers are elements, and elb::element; a type of one's own is
// one by a specialisation of elb::packing (elb_entry.h), which says its order, too.
//
// A queue holds at most 2^t - 1 elements that are equal, where t, the number of tie bits, is what
// an element leaves of 63 or 127 bits: for 32 bits, 2^31 - 1. A program whose elements are all
// different, for example because each has a number of its own, needs no tie bits:
//
//     struct unequal : assay::elb_queue_settings {
//       static constexpr unsigned tie_bits = 0;
//     };
//
// The caller of push() must then know that no equal element is there or being pushed: else it may
// be there twice or once, and debug builds abort if they see it.
//
// Promises
// --------
// Its calls are not linearizable. A pop does not pass over what was pushed before it began, but it
// may pass over what is pushed meanwhile: if one thread pushes in ascending order while another
// pops, a later element may be popped before an earlier one. Equal elements are popped in any
// order.
//
// Every call on a handle is lock-free, as far as elb_tree.h says: apart from the allocator, and
// with reclaim::epochs from threads that stall and hold up the freeing of memory. Each goes down
// one way from the root, which takes time logarithmic in the number of elements; a pop goes down
// again, to the next leaf, if the first one has become empty.

#ifndef ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_
#define ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "assay/base/atomics.h"
#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_tree.h"

namespace assay {

// Pops empty one leaf after the other. So these are joined late, when one entry is left, and are
// twice as wide as in section 5.5.3 (elb_narrow): both make balancing rarer. With narrow nodes one
// thread does 0.86, 0.83 and 0.80 of the operations at 10^4, 10^5 and 10^6 entries, two threads do
// 1.00, 0.88 and 0.87.
struct elb_queue_settings : elb_settings {
  static constexpr std::size_t sparse = 1;
};

namespace elb {

template <class T>
concept packable = std::is_trivially_copyable_v<T> && requires(const T& from) {
  packing<T>::unpack(packing<T>::pack(from));
  requires packing<T>::bits > 0;
};

// How many bits tell elements of this many bits from equal ones.
template <unsigned Bits, class Settings>
constexpr unsigned tie_bits() {
  if constexpr (requires { Settings::tie_bits; }) return Settings::tie_bits;
  return Bits <= 32 ? 63 - Bits : 127 - Bits;
}

}  // namespace elb

// `Compare` is std::less or std::greater, `Reclaim` decides when memory is freed, and `Settings`
// says how wide nodes are (elb_nodes in elb_tree.h) and how many tie bits there are.
//
// Any thread may call its functions; those that say "at rest" need the queue at rest (concept.h):
// no other thread calls anything, and what others did happened before.
template <class T, class Compare = std::less<T>, class Reclaim = reclaim::hazard_pointers,
          class Settings = elb_queue_settings>
class elb_priority_queue {
  static_assert(
      elb::packable<T>,
      "elements of elb_priority_queue are integers, elb::element (a key with a value), or "
      "of a trivially copyable type with a specialisation of elb::packing, which says "
      "which number of how many bits an element is (assay/maps/elb_entry.h)");
  using packing = elb::packing<T>;
  static_assert(packing::bits <= 111 || (requires { Settings::tie_bits; } && packing::bits <= 127),
                "elements of elb_priority_queue have at most 111 bits, as 16 or more tell equal "
                "ones apart, or 127 if tie_bits of the settings is given");
  static constexpr bool descends =
      std::same_as<Compare, std::greater<T>> || std::same_as<Compare, std::greater<>>;
  static_assert(descends || std::same_as<Compare, std::less<T>> ||
                    std::same_as<Compare, std::less<>>,
                "elb_priority_queue orders by std::less or std::greater; elb::packing of the "
                "element's type says what is less");

  static constexpr unsigned tie_bits = elb::tie_bits<packing::bits, Settings>();
  static constexpr unsigned bits = packing::bits + tie_bits;
  static_assert(bits <= 127,
                "an element of elb_priority_queue and its tie bits have together at most 127 bits");
  using word = elb::word_of<bits>;
  // At the highest bits, so that the upper part of a wide word tells most elements apart.
  static constexpr unsigned unused = 8 * sizeof(word) - 1 - bits;
  static constexpr word ranks = (word{1} << packing::bits) - 1;
  using tree = elb_tree<word, Reclaim, Settings>;

  // One less than there could be: so the greatest word is not used.
  static constexpr std::uint64_t ties =
      tie_bits == 0 ? 1 : (std::uint64_t{1} << std::min(tie_bits, 63U)) - 1;
  // No queue lives to see this many pushes.
  static constexpr bool ties_are_new = tie_bits >= 56;

  static word coded(const T& element, std::uint64_t tie) {
    const word rank = word{packing::pack(element)};
    return ((descends ? ranks - rank : rank) << tie_bits | tie) << unused;
  }
  static T decoded(word from) {
    const word rank = from >> (unused + tie_bits);
    using number = elb::number_of<packing::bits>;
    return packing::unpack(static_cast<number>(descends ? ranks - rank : rank));
  }

 public:
  using value_type = T;
  using value_compare = Compare;

  static constexpr bool lock_free = tree::lock_free;

  // A thread's access. Only the thread that attached it calls it, and not within a call to it. It
  // is destroyed before the queue is, outside its calls, by that thread or by one that knows that
  // it is done. Debug builds abort, with a message, on a call by another thread, or after it was
  // moved from, and when it outlives its queue.
  //
  // A call throws std::bad_alloc, with nothing changed.
  class handle {
   public:
    // Adds an element; no two pops return it. Throws std::length_error if the queue
    // holds as many equal elements as the tie bits can tell apart, and std::out_of_range for an
    // element with more bits than its type says, or for the last one in the order where there are
    // no tie bits and elements fill a word.
    void push(const T& element) {
      if constexpr (tie_bits == 0) {
        in_.insert_new(coded(element, 0));
      } else if constexpr (ties_are_new) {
        in_.insert_new(coded(element, next_tie()));
      } else {
        for (std::uint64_t tried = 0; tried < ties; ++tried) {
          if (in_.insert(coded(element, next_tie()))) return;
        }
        throw std::length_error("elb_priority_queue: " + std::to_string(ties) +
                                " equal elements are in the queue, as many as " +
                                std::to_string(tie_bits) + " tie bits tell apart");
      }
    }

    // Pushes the elements from `first` to `last`, one after the other. Throws as push(), and what
    // the iterators throw; what came before stays.
    template <std::input_iterator From, std::sentinel_for<From> To>
    void push_range(From first, To last) {
      for (; first != last; ++first) push(*first);
    }

    // Removes the first element and returns it. No element that was in the queue during the whole
    // call comes before it in the order; elements that are pushed meanwhile may. Returns nothing
    // only if no element was in the queue during the whole call.
    [[gnu::always_inline]] std::optional<T> try_pop() { return of(in_.erase(0, highest)); }

    // As try_pop(), but takes any element of the first leaf, so that up to leaf_capacity - 1
    // elements that come before it may stay in the queue. Threads that call it at the same time
    // seldom want the same element; threads that call try_pop() always do.
    [[gnu::always_inline]] std::optional<T> try_pop_near() {
      return of(in_.erase_near(0, highest));
    }

    // Pops up to n elements, one after the other, writes them to `to`, and returns how many. It
    // ends early when a pop finds none. Throws as try_pop(), and what the iterator throws: then the
    // element that could not be written is lost.
    template <std::output_iterator<T> To>
    std::size_t try_pop_n(std::size_t n, To to) {
      for (std::size_t popped = 0; popped < n; ++popped) {
        const std::optional<T> next = try_pop();
        if (!next) return popped;
        *to++ = *next;
      }
      return n;
    }

    // False if it met an element; true only if no element was in the queue during the whole call.
    // Goes down as try_pop() does.
    [[nodiscard]] bool empty() { return !in_.search(0, highest).has_value(); }

    // About how many elements there are: see elb_tree.h. Lock-free.
    [[nodiscard]] std::uint64_t approximate_size() { return in_.approximate_size(); }

   private:
    friend elb_priority_queue;
    static constexpr std::uint64_t ties_at_once = 1024;
    static constexpr word highest = ~word{0};

    explicit handle(elb_priority_queue& queue) : queue_(&queue), in_(queue.all_.attach()) {}

    [[gnu::always_inline]] static std::optional<T> of(const std::optional<word>& found) {
      return found ? std::optional(decoded(*found)) : std::nullopt;
    }
    // Threads take many at once, so that they seldom meet.
    std::uint64_t next_tie() {
      if (next_ % ties_at_once == 0) {
        // Relaxed: only that each number is another's matters.
        next_ = queue_->given_out_.fetch_add(ties_at_once, memory_order_relaxed);
      }
      return next_++ % ties;
    }

    elb_priority_queue* queue_;
    std::uint64_t next_ = 0;
    typename tree::handle in_;
  };

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }

  // Calls visit(element) for each element, in the order in which they would be popped. At rest.
  // Throws std::bad_alloc and what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    all_.for_each([&](word each) { visit(decoded(each)); });
  }

  // Whether it holds no element. At rest.
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // How many elements it holds. At rest. Takes time linear in their number. Throws std::bad_alloc.
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // Removes all elements; handles stay valid. At rest. Takes time linear in their number. Throws
  // std::bad_alloc, with nothing changed.
  void clear() { all_.clear(); }

  // What is wrong, if anything is: see elb_tree.h. At rest, for tests. Throws std::bad_alloc.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return all_.broken_invariant();
  }

  // Nodes, depths and bytes: see elb_tree.h. At rest.
  [[nodiscard]] assay::shape shape() const { return all_.shape(); }

  // How many retired nodes wait to be freed; an estimate while threads are inside calls.
  [[nodiscard]] std::uint64_t unfreed() const { return all_.unfreed(); }

 private:
  tree all_;
  atomic<std::uint64_t> given_out_{0};  // ties
};

}  // namespace assay

#endif  // ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_
