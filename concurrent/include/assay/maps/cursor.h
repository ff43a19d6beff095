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

// A handle of an ordered map, such as bt_map's. Each of its searches returns an optional pair of a
// key and a value.
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

// Only the handle's thread uses it, outside of the handle's calls, and while the handle exists. If
// the handle's search throws, the step throws that, and the cursor stays where it is; if the
// element that was found cannot be moved, the cursor is at no element.
template <ordered_handle Handle>
class cursor {
 public:
  using element = element_of_handle<Handle>;
  using key_type = typename element::first_type;

  // At no element yet.
  explicit cursor(Handle& handle) : handle_(&handle) {}

  // Goes to the element with the least key that is at least `key`. The key is a K, or of another
  // type that the handle's lower_bound() takes.
  void seek(const key_type& key) { stand_at(handle_->lower_bound(key)); }
  template <class Other>
    requires(!std::is_arithmetic_v<Other>)
  void seek(const Other& key) {
    stand_at(handle_->lower_bound(key));
  }
  // Goes to the element with the least key, or the greatest.
  void first() { stand_at(handle_->minimum()); }
  void last() { stand_at(handle_->maximum()); }

  // Goes to the element after the current one, or before it. If there is no current one, next() is
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

  // Whether there is a current element: not after a step that found none.
  [[nodiscard]] bool valid() const noexcept { return at_.has_value(); }
  // The current element, as it was when the step was made. There must be one. References are valid
  // until the next step.
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

// The elements of a map in ascending order, all or those from a key on: an input range. Its steps
// are a cursor's, and promise the same. Like std::ranges::istream_view it holds the element that
// its iterators read: walk it once at a time, and do not move it meanwhile.
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

  // Searches for the first element.
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
