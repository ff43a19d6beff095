// A place in an ordered map that other threads change, and the map's elements as a C++20 range.
//
//     auto handle = prices.attach();
//     assay::cursor at(handle);
//     for (at.seek("m"); at.valid(); at.next()) std::cout << at.key() << ' ' << at.value() << '\n';
//     for (at.last(); at.valid(); at.previous()) ...
//
//     for (const auto& [key, price] : assay::elements(handle)) ...
//     for (const auto& [key, price] : assay::elements(handle, "m")) ...  // from "m" on
//
// Promises
// --------
// A cursor holds a copy of one element, and no place in the tree: each step searches the map for
// the least key above that copy's, or the greatest below. So nothing that happens to the map makes
// it invalid, and nothing that is erased waits for it to be freed.
//
// - Each step is linearizable if the map's search is. The walk as a whole is not of one moment.
// - A walk in one direction ascends or descends: it meets nothing twice. It meets once what is
//   there all the time, and may or may not meet what comes or goes meanwhile.
// - key() and value() are as they were when the step was made; the element may be gone since.
//
// A step costs one search, where visit_range() of bt_map.h pays one for a leaf of elements: that is
// what to use where no other code comes between two elements.

#ifndef ASSAY_MAPS_CURSOR_H_
#define ASSAY_MAPS_CURSOR_H_

#include <cstddef>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace assay {

// A handle of an ordered map, as that of bt_map.h. Each of its searches returns an optional pair of
// a key and a value.
template <class Handle>
using element_of_handle = typename decltype(std::declval<Handle&>().minimum())::value_type;
template <class Handle>
concept ordered_handle =
    requires(Handle& handle, const typename element_of_handle<Handle>::first_type& key) {
      handle.minimum();
      handle.maximum();
      handle.lower_bound(key);
      handle.upper_bound(key);
      handle.predecessor(key);
    };

// Used by the handle's thread, outside of the handle's calls, and no longer than the handle lives.
// A step throws what the handle's search throws, and then stands where it stood; or, if an element
// that was found cannot be moved, at none.
template <ordered_handle Handle>
class cursor {
 public:
  using element = element_of_handle<Handle>;
  using key_type = typename element::first_type;

  // Stands at no element.
  explicit cursor(Handle& handle) : handle_(&handle) {}

  // To the element with the least key that is at least `key`, which is of the map's type of keys,
  // or of another one that lower_bound() takes.
  void seek(const key_type& key) { stand_at(handle_->lower_bound(key)); }
  template <class Other>
    requires(!std::is_arithmetic_v<Other>)
  void seek(const Other& key) {
    stand_at(handle_->lower_bound(key));
  }
  // To the element with the least key, or the greatest.
  void first() { stand_at(handle_->minimum()); }
  void last() { stand_at(handle_->maximum()); }

  // To the element after the one that it stands at, or before it. If it stands at none, next() is
  // first() and previous() is last().
  void next() {
    if (valid()) {
      stand_at(handle_->upper_bound(key()));
    } else {
      first();
    }
  }
  void previous() {
    if (valid()) {
      stand_at(handle_->predecessor(key()));
    } else {
      last();
    }
  }

  // Whether it stands at an element: not after a step that found none. noexcept, as what follows.
  [[nodiscard]] bool valid() const noexcept { return at_.has_value(); }
  // The element that it stands at, as it was when the step was made. Good until the next step.
  [[nodiscard]] const auto& key() const noexcept { return at_->first; }
  [[nodiscard]] const auto& value() const noexcept { return at_->second; }
  [[nodiscard]] const element& operator*() const noexcept { return *at_; }

 private:
  // Not by assignment, which keys and values need not have.
  void stand_at(std::optional<element>&& found) {
    at_.reset();
    if (found) at_.emplace(std::move(*found));
  }

  Handle* handle_;
  std::optional<element> at_;
};

// The elements of a map in ascending order, all or those from a key on: an input range, whose steps
// are a cursor's and promise what those do. As std::ranges::istream_view, it has the element that
// its iterators read, so that it is walked once at a time, and not moved meanwhile.
template <ordered_handle Handle>
class elements : public std::ranges::view_interface<elements<Handle>> {
 public:
  using key_type = typename element_of_handle<Handle>::first_type;

  explicit elements(Handle& handle) : at_(handle) {}
  elements(Handle& handle, key_type first) : at_(handle), first_(std::move(first)) {}

  class iterator {
   public:
    using value_type = element_of_handle<Handle>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    explicit iterator(elements& of) : of_(&of) {}

    const value_type& operator*() const { return *of_->at_; }
    iterator& operator++() {
      of_->at_.next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t /*end*/) const { return !of_->at_.valid(); }

   private:
    elements* of_;
  };

  // Searches the first element.
  iterator begin() {
    if (first_) {
      at_.seek(*first_);
    } else {
      at_.first();
    }
    return iterator(*this);
  }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }

 private:
  cursor<Handle> at_;
  std::optional<key_type> first_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_CURSOR_H_
