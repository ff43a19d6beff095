// A map that holds nothing: what a trial of it costs is the trial loop. Its operations are opaque,
// so that the compiler can neither drop nor inline them.

#ifndef ASSAY_SUBJECTS_NOOP_H_
#define ASSAY_SUBJECTS_NOOP_H_

#include <cstdint>
#include <optional>

class noop {
 public:
  static constexpr bool holds_nothing = true;

  class handle {
   public:
    [[gnu::noinline]] bool insert(std::uint64_t key, std::uint64_t value) {
      asm volatile("" ::"r"(key), "r"(value));
      return true;
    }
    [[gnu::noinline]] bool erase(std::uint64_t key) {
      asm volatile("" ::"r"(key));
      return true;
    }
    [[gnu::noinline]] std::optional<std::uint64_t> find(std::uint64_t key) {
      // Named and empty, it comes back in registers. gcc 12 assembles every other optional in
      // memory, byte after word, and reading it back at once stalls for 5 ns, more than the rest of
      // the trial loop costs.
      std::optional<std::uint64_t> nothing;
      asm volatile("" ::"r"(key));
      return nothing;
    }
  };

  handle attach() { return {}; }

  template <class Visit>
  void for_each(Visit&&) {}
};

#endif  // ASSAY_SUBJECTS_NOOP_H_
