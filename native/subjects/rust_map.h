// Maps written in Rust as subjects. rust/src/lib.rs has their functions, which are plain C: no call
// is inlined into the loop.

#ifndef ASSAY_SUBJECTS_RUST_MAP_H_
#define ASSAY_SUBJECTS_RUST_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

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
#define ASSAY_RUST_MAP(NAME)                                                                    \
  extern "C" {                                                                                  \
  void* NAME##_new();                                                                           \
  void NAME##_delete(void* map);                                                                \
  bool NAME##_insert(const void* map, std::uint64_t key, std::uint64_t value);                  \
  bool NAME##_erase(const void* map, std::uint64_t key);                                        \
  rust::found NAME##_find(const void* map, std::uint64_t key);                                  \
  std::size_t NAME##_range(const void* map, std::uint64_t first, std::uint64_t last,            \
                           rust::element* elements, std::size_t room);                          \
  void NAME##_walk(const void* map, bool (*visit)(void* context, std::uint64_t, std::uint64_t), \
                   void* context);                                                              \
  }                                                                                             \
  struct NAME##_functions {                                                                     \
    static constexpr auto make = NAME##_new;                                                    \
    static constexpr auto destroy = NAME##_delete;                                              \
    static constexpr auto insert = NAME##_insert;                                               \
    static constexpr auto erase = NAME##_erase;                                                 \
    static constexpr auto find = NAME##_find;                                                   \
    static constexpr auto range = NAME##_range;                                                 \
    static constexpr auto walk = NAME##_walk;                                                   \
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

// What a Rust function calls through `function`, with this object as its context, until it returns
// false. An exception waits until rethrow(), as none may pass through Rust.
template <class Visit>
class visit_from_rust {
 public:
  explicit visit_from_rust(Visit visit) : visit_(std::move(visit)) {}

  template <class... Element>
  static bool function(void* context, Element... element) {
    auto& self = *static_cast<visit_from_rust*>(context);
    try {
      return self.visit_(element...);
    } catch (...) {
      self.thrown_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  Visit visit_;
  std::exception_ptr thrown_;
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
    visit_from_rust walk([&visit](std::uint64_t key, std::uint64_t value) {
      visit(key, value);
      return true;
    });
    Functions::walk(map_.get(), walk.template function<std::uint64_t, std::uint64_t>, &walk);
    walk.rethrow();
  }

 private:
  static constexpr std::size_t part = 128;

  owned<Functions> map_;
};

}  // namespace rust

#endif  // ASSAY_SUBJECTS_RUST_MAP_H_
