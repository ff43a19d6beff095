// When may a node that was unlinked from a concurrent structure be freed?
//
// Not at once: another thread may have read a pointer to it just before and be about to follow it.
// A structure therefore hands what it has unlinked to a reclamation policy, which frees it once no
// thread can hold it any more. The policy is a template parameter of the structure, so that
// structures can be compared with their memory reclaimed alike (Kharal and Brown 2022, section 5):
//
//     template <class K, class V, class Reclaim = assay::reclaim::epochs>
//     class my_map {
//       Reclaim domain_;                                  // outlives every participant
//      public:
//       class handle {
//         typename Reclaim::participant me_;              // from map.domain_.join()
//         bool erase(const K& key) {
//           auto guard = me_.pin();                       // from here on, what is read stays
//           node* old = guard.protect(0, map_->head_);
//           ...                                           // unlink it
//           guard.retire(old);                            // `delete old`, later
//         }                                               // the guard ends
//       };
//     };
//
// A domain is shared by the threads of one structure. `join()` makes the calling thread a
// participant; there may be any number of them. A thread reads shared nodes only under a guard, and
// retires under it what it has unlinked. What is retired and not yet freed is garbage: others free
// what a participant leaves behind, or the domain does at its end. Only the thread that joined uses
// a participant. Another thread may move or destroy it, if it knows that the first is done with it.
//
// A thread is *pinned* while it has a guard. A domain is *at rest* while no guard is open, no other
// thread calls anything on it or on its participants, and all that other threads did with it
// happened before: their calls have returned, and this thread has synchronised with them since, for
// example by joining them. A function that needs the domain at rest says so; until it returns, the
// domain stays at rest.
//
// What a guard protects depends on the policy:
//
// - `protection::everything`: whatever is reached from the structure's roots after pin(), also
//   through nodes that were unlinked meanwhile, stays until the guard ends. `protect` is an acquire
//   load.
// - `protection::named`: only what `protect(slot, source)` returned last for each slot stays. It
//   returns a pointer that `source` held after it had been announced. The structure must make sure
//   that the node was not retired before, because it was still linked then.
//
// A structure that needs the former refuses the latter when it is compiled, in words that its users
// understand:
//
//     static_assert(Reclaim::protects == protection::everything, "my_map needs epochs: ...");

#ifndef ASSAY_RECLAIM_CONCEPT_H_
#define ASSAY_RECLAIM_CONCEPT_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "assay/base/atomics.h"

namespace assay::reclaim {

enum class protection : std::uint8_t { everything, named };

// How many pointers a guard can protect by name.
inline constexpr std::size_t slots = 8;

// How many nodes a guard can retire without an allocation, which pin() has made sure of: retire()
// never fails.
inline constexpr std::size_t retires_per_guard = 256;

// A type of node to state the concept with.
struct any_node {};

// What is done to a node instead of `delete`: a function object that can be moved. It is called
// once with the node, by any thread of the domain. It does not throw nor use the domain.
template <class D, class T>
concept deleter_of =
    !std::is_function_v<T> && std::move_constructible<D> && std::is_invocable_v<D&, T*>;

// Deleters and functions to state the concept with: some fit into a pointer, some are only moved.
using any_plain_deleter = void (*)(any_node*);
struct any_deleter {
  std::unique_ptr<any_node> state;
  void operator()(any_node* node);
};
using any_plain_function = void (*)();
struct any_function {
  std::unique_ptr<any_node> state;
  void operator()();
};

// What guards do: see `policy`.
template <class G>
concept guard_that_protects =
    requires(G& guard, const atomic<any_node*>& source, const atomic<std::uintptr_t>& word,
             any_node* (*pointer_of)(std::uintptr_t)) {
      { guard.protect(std::size_t{0}, source) } -> std::same_as<any_node*>;
      { guard.protect(std::size_t{0}, word, pointer_of) } -> std::same_as<std::uintptr_t>;
    };
template <class G>
concept guard_that_retires =
    requires(G& guard, any_node* node, any_plain_deleter plain, any_deleter deleter) {
      { guard.retire(node) } noexcept -> std::same_as<void>;
      { guard.retire(node, plain) } noexcept -> std::same_as<void>;
      { guard.retire(node, std::move(deleter)) } -> std::same_as<void>;
    };
template <class G>
concept guard_that_defers = requires(G& guard, any_plain_function plain, any_function function) {
  { guard.retire(plain) } noexcept -> std::same_as<void>;
  { guard.retire(std::move(function)) } -> std::same_as<void>;
};

// The calls and what each policy promises of them. None of them waits for another thread; the
// policies' headers say what each costs.
//
//   domain()
//       may throw std::bad_alloc
//   ~domain()
//       frees all garbage, except under `none`, which never frees. At rest; no participant is left,
//       which debug builds check
//   domain.join()
//       a participant for the calling thread. By any thread. Lock-free. Throws std::bad_alloc
//   participant.pin()
//       a guard. By the thread that joined; while the participant has another guard only if `nests`
//       is true: then both are the same guard, which ends when the last of them does. Guards of
//       several participants of one thread are independent. Lock-free. Throws std::bad_alloc, with
//       nothing changed
//   participant.pin_to_read()
//       a guard that protects as others do and retires nothing. As pin(), but allocates nothing and
//       never fails
//   ~participant()
//       leaves. No guard of it is open. Never fails
//   guard.protect(slot, source)
//       the pointer in `source`, protected as above. `slot` is below `slots`. Lock-free. Never
//       fails
//   guard.protect(slot, source, pointer_of)
//       the same for a word that holds a pointer and marks: pointer_of(word) is the pointer.
//       Returns the word
//   guard.retire(node), guard.retire(node, deleter)
//       deletes `node` once no thread can hold it, or hands it to the deleter. This thread has
//       unlinked it, and nobody else retires it. Its destructor must not throw nor use the domain.
//       Wait-free, apart from destructors and the allocator. Never fails for the first
//       retires_per_guard nodes of a guard. A deleter that is trivially copied and at most as large
//       as a pointer needs no memory; for any other one this throws std::bad_alloc, or what moving
//       it throws, with nothing retired
//   guard.retire(function)
//       calls function() once all guards that are open now have ended, as retire(node, deleter)
//       without a node. Only where `protects` is everything
//   domain.free_all()
//       frees all garbage, except under `none`. By any thread, at rest. Never fails. A policy may
//       lack it
//   domain.unfreed()
//       how many nodes of garbage there are; an estimate while threads are inside calls. Wait-free
template <class P>
concept policy =
    std::default_initializable<P> && std::move_constructible<typename P::participant> &&
    guard_that_protects<typename P::guard> && guard_that_retires<typename P::guard> &&
    (P::protects == protection::named || guard_that_defers<typename P::guard>) &&
    requires(P& domain, const P& looked_at, typename P::participant& participant) {
      { P::nests } -> std::convertible_to<bool>;
      { domain.join() } -> std::same_as<typename P::participant>;
      { participant.pin() } -> std::same_as<typename P::guard>;
      { participant.pin_to_read() } noexcept -> guard_that_protects;
      { looked_at.unfreed() } -> std::same_as<std::uint64_t>;
    };

}  // namespace assay::reclaim

#endif  // ASSAY_RECLAIM_CONCEPT_H_
