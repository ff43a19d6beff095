// Maps written in Rust as subjects. rust/src/lib.rs has their functions, which are plain C: no call
// is inlined into the loop.

#ifndef ASSAY_SUBJECTS_RUST_MAP_H_
#define ASSAY_SUBJECTS_RUST_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "assay/maps/plain_handle.h"

namespace rust {

struct element {
  std::uint64_t key;
  std::uint64_t value;
};

struct found {
  std::uint64_t value;
  bool there;

  [[nodiscard, gnu::always_inline]] std::optional<std::uint64_t> get() const {
    return there ? std::optional(value) : std::nullopt;
  }
};

}  // namespace rust

// Declares the functions of a map, and gathers them in the type NAME_functions.
#define ASSAY_RUST_MAP(NAME)                                                         \
  extern "C" {                                                                       \
  void* NAME##_new();                                                                \
  void NAME##_delete(void* map);                                                     \
  bool NAME##_insert(const void* map, std::uint64_t key, std::uint64_t value);       \
  bool NAME##_erase(const void* map, std::uint64_t key);                             \
  rust::found NAME##_find(const void* map, std::uint64_t key);                       \
  std::size_t NAME##_range(const void* map, std::uint64_t first, std::uint64_t last, \
                           rust::element* elements, std::size_t room);               \
  }                                                                                  \
  struct NAME##_functions {                                                          \
    static constexpr auto make = NAME##_new;                                         \
    static constexpr auto destroy = NAME##_delete;                                   \
    static constexpr auto insert = NAME##_insert;                                    \
    static constexpr auto erase = NAME##_erase;                                      \
    static constexpr auto find = NAME##_find;                                        \
    static constexpr auto range = NAME##_range;                                      \
  };

namespace rust {

// A map of Rust's, destroyed with its owner.
template <class Functions>
class owned {
 public:
  [[nodiscard]] const void* get() const { return map_.get(); }

 private:
  struct destroy {
    void operator()(void* map) const { Functions::destroy(map); }
  };
  std::unique_ptr<void, destroy> map_{Functions::make()};
};

// Numbers to numbers. A range reads as many elements at once as fit in a part, each part by a
// search of its own: it is not atomic.
template <class Functions>
class map_of_numbers {
 public:
  static constexpr bool ordered = true;
  static constexpr bool range_is_atomic = false;

  bool insert(std::uint64_t key, std::uint64_t value) {
    return Functions::insert(map_.get(), key, value);
  }
  bool erase(std::uint64_t key) { return Functions::erase(map_.get(), key); }
  [[gnu::always_inline]] std::optional<std::uint64_t> find(std::uint64_t key) {
    return Functions::find(map_.get(), key).get();
  }
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t last, Visit&& visit) {
    std::array<element, part> met;
    while (first <= last) {
      const std::size_t count = Functions::range(map_.get(), first, last, met.data(), part);
      for (std::size_t i = 0; i < count; ++i) visit(met[i].key, met[i].value);
      if (count < part || met.back().key == last) return;
      first = met.back().key + 1;
    }
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    range(0, std::numeric_limits<std::uint64_t>::max(), visit);
  }

 private:
  static constexpr std::size_t part = 128;

  owned<Functions> map_;
};

}  // namespace rust

#endif  // ASSAY_SUBJECTS_RUST_MAP_H_
