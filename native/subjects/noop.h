// A map that holds nothing: what a trial of it costs is the trial loop. Its operations are opaque,
// so that the compiler can neither drop nor inline them.

#ifndef ASSAY_SUBJECTS_NOOP_H_
#define ASSAY_SUBJECTS_NOOP_H_

#include <cstdint>
#include <optional>
#include <type_traits>

#include "assay/maps/concept.h"

template <class K, class V>
class noop_of {
 public:
  static constexpr bool holds_nothing = true;

  class handle {
   public:
    [[gnu::noinline]] bool insert(assay::parameter<K> key, assay::parameter<V> value) {
      use(key);
      use(value);
      return true;
    }
    [[gnu::noinline]] bool erase(assay::parameter<K> key) {
      use(key);
      return true;
    }
    [[gnu::noinline]] std::optional<V> find(assay::parameter<K> key) {
      // Named and empty, it comes back in registers. gcc 12 assembles every other optional in
      // memory, byte after word, and reading it back at once stalls for 5 ns, more than the rest of
      // the trial loop costs.
      std::optional<V> nothing;
      use(key);
      return nothing;
    }

   private:
    template <class T>
    [[gnu::always_inline]] static void use(const T& datum) {
      if constexpr (std::is_arithmetic_v<T>) {
        asm volatile("" ::"r"(datum));
      } else {
        asm volatile("" ::"r"(datum.data()) : "memory");
      }
    }
  };

  handle attach() { return {}; }

  template <class Visit>
  void for_each(Visit&&) {}
};

using noop = noop_of<std::uint64_t, std::uint64_t>;

#endif  // ASSAY_SUBJECTS_NOOP_H_
