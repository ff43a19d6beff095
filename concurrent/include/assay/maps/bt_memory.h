// Where the nodes, boxes and records of a bt_map.h come from, and how each finds its way back.
//
//     const memory<Allocator> from(allocator);     // the allocator outlives all that is made
//     leaf* const node = from.template make<leaf>();
//     memory<Allocator>::destroy(node);            // by any thread, with no allocator at hand
//
// What is retired is freed later, by a function without state. So an object that is made by an
// allocator with state has a pointer to it, behind its own members. One that is made by an
// allocator without state, as the default one is, has nothing: it is as large as with `new`.

#ifndef ASSAY_MAPS_BT_MEMORY_H_
#define ASSAY_MAPS_BT_MEMORY_H_

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "assay/base/abi.h"

namespace assay::bt::inline ASSAY_ABI {

// What `allocator` of bt_map's policies may be: any allocator whose pointers are plain ones.
template <class A>
concept allocator = std::copy_constructible<A> && requires(A& from) {
  typename A::value_type;
  { from.allocate(std::size_t{1}) } -> std::same_as<typename A::value_type*>;
};

template <class Allocator>
class memory {
 public:
  static constexpr bool is_stateless = std::is_empty_v<Allocator> &&
                                       std::is_default_constructible_v<Allocator> &&
                                       std::allocator_traits<Allocator>::is_always_equal::value;

 private:
  template <class T>
  struct owned : T {
    template <class... Arguments>
    explicit owned(const memory& from_, Arguments&&... arguments)
        : T(std::forward<Arguments>(arguments)...), from(from_) {}
    [[no_unique_address]] const memory from;
  };
  template <class T>
  using traits = typename std::allocator_traits<Allocator>::template rebind_traits<owned<T>>;

 public:
  explicit memory(const Allocator& from) noexcept {
    if constexpr (!is_stateless) allocator_ = &from;
  }

  // Throws what the allocator and T's constructor throw, with no memory kept.
  template <class T, class... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) const {
    auto from = allocator_of<T>();
    owned<T>* const place = traits<T>::allocate(from, 1);
    try {
      return std::construct_at(place, *this, std::forward<Arguments>(arguments)...);
    } catch (...) {
      traits<T>::deallocate(from, place, 1);
      throw;
    }
  }

  // `made` is what make<T>() returned.
  template <class T>
  static void destroy(T* made) noexcept {
    auto* const place = static_cast<owned<T>*>(made);
    auto from = place->from.template allocator_of<T>();
    std::destroy_at(place);
    traits<T>::deallocate(from, place, 1);
  }
  // The same for what owns or retires it.
  struct deleter {
    template <class T>
    void operator()(T* made) const noexcept {
      destroy(made);
    }
  };

  // After much was destroyed: an allocator that keeps memory for the thread may let it go.
  static void give_back() noexcept {
    if constexpr (requires { Allocator::give_back(); }) Allocator::give_back();
  }

  // Bytes that make<T>() asks the allocator for.
  template <class T>
  static constexpr std::size_t bytes_of = sizeof(owned<T>);

 private:
  template <class T>
  [[nodiscard]] typename traits<T>::allocator_type allocator_of() const noexcept {
    if constexpr (is_stateless) {
      return typename traits<T>::allocator_type(Allocator());
    } else {
      return typename traits<T>::allocator_type(*allocator_);
    }
  }

  struct none {};
  [[no_unique_address]] std::conditional_t<is_stateless, none, const Allocator*> allocator_{};
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_MEMORY_H_
