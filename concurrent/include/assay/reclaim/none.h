// How much of a structure's time goes into reclaiming memory? To know, measure it without.
//
//     assay::reclaim::none domain;
//     auto me = domain.join();
//     auto guard = me.pin();
//     node* old = guard.protect(0, head);     // an acquire load
//     guard.retire(old);                      // nothing: the node is never freed
//
// Every node that is retired is leaked, so that protection costs nothing and memory grows with
// every update for as long as the program runs. This is the baseline of comparisons, as
// Kharal and Brown (2022, section 4) make theirs, and not a policy for programs that run for long.

#ifndef ASSAY_RECLAIM_NONE_H_
#define ASSAY_RECLAIM_NONE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "assay/base/atomics.h"
#include "assay/reclaim/checks.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/observer.h"
#include "assay/reclaim/participant.h"
#include "assay/reclaim/records.h"

namespace assay::reclaim::inline ASSAY_ABI {

struct none_settings {
  using observer = no_observer;
};

template <class Settings>
class basic_none {
  struct alignas(detail::record_alignment) record : detail::record_base {};

 public:
  static constexpr protection protects = protection::everything;
  static constexpr bool nests = true;
  using participant = detail::participant<basic_none>;

  class guard;
  class read_guard {
   public:
    read_guard(const read_guard&) = delete;
    read_guard& operator=(const read_guard&) = delete;
    ~read_guard() { record_->use.unpin(); }

    // Returns the pointer that `source` holds. Wait-free.
    template <class T>
    T* protect(std::size_t /*slot*/, const atomic<T*>& source) const {
      return source.load(memory_order_acquire);  // pairs with the store that linked the node
    }
    template <class Word, class PointerOf>
    Word protect(std::size_t /*slot*/, const atomic<Word>& source, PointerOf /*pointer_of*/) const {
      return source.load(memory_order_acquire);  // likewise
    }

   private:
    friend participant;
    friend guard;
    read_guard(basic_none& /*domain*/, record& mine) noexcept : record_(&mine) { mine.use.pin(); }
    record* record_;
  };

  class guard : public read_guard {
   public:
    // Forgets the node. Wait-free; never fails.
    template <class T, deleter_of<T> Deleter = std::default_delete<T>>
    void retire(T* node, const Deleter& /*deleter*/ = {}) noexcept {
      misuse::require(node != nullptr, "retire() is given a null pointer");
      detail::leak(const_cast<std::remove_cv_t<T>*>(node));
      count();
    }
    // Does not call the function. Wait-free; never fails.
    template <class F>
      requires std::invocable<F&>
    void retire(const F& /*function*/) noexcept {
      count();
    }

   private:
    friend participant;
    guard(basic_none& domain, record& mine) : read_guard(domain, mine) {}

    void count() noexcept {
      auto& waiting = this->record_->waiting;
      waiting.store(waiting.load(memory_order_relaxed) + 1, memory_order_relaxed);
      Settings::observer::retired();
    }
  };

  // A participant for the calling thread. By any thread; lock-free; throws std::bad_alloc.
  participant join() { return {*this, records_.claim()}; }

  // Frees nothing: what was retired is leaked. As under the other policies, while the domain is at
  // rest (concept.h).
  void free_all() noexcept {
    records_.all([](record& one) {
      one.use.expect_at_rest();
      return true;
    });
  }

  // In builds with checks, ends the program with the message `otherwise` if a guard is open. As
  // free_all().
  void expect_at_rest([[maybe_unused]] const char* otherwise) const {
    if constexpr (misuse::checks) {
      records_.all([otherwise](const record& each) {
        each.use.expect_at_rest(otherwise);
        return true;
      });
    }
  }

  // The number of retired nodes, which all still take memory. Any thread may call this; wait-free.
  std::uint64_t unfreed() const { return records_.waiting(); }

 private:
  friend participant;

  // Wait-free.
  void leave(record& mine) { records_.release(mine); }

  detail::record_list<record, 8> records_;
};

using none = basic_none<none_settings>;

static_assert(policy<none>);

}  // namespace assay::reclaim::inline ASSAY_ABI

#endif  // ASSAY_RECLAIM_NONE_H_
