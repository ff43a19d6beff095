// Up to N things, without an allocation: the elements of a leaf, the locks that a change takes.

#ifndef ASSAY_MAPS_BT_INLINE_VECTOR_H_
#define ASSAY_MAPS_BT_INLINE_VECTOR_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "assay/base/abi.h"

namespace assay::bt::inline ASSAY_ABI {

template <class T, std::size_t N>
class inline_vector {
 public:
  void push(const T& item) { items_[size_++] = item; }
  // Those beyond the size before have any value.
  void resize(std::size_t size) { size_ = size; }
  void clear() { size_ = 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T* begin() { return items_.data(); }
  T* end() { return items_.data() + size_; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }

 private:
  // With smaller arrays, gcc 12 warns that std::sort, which compares items up to 16 apart, leaves
  // them.
  std::array<T, std::max<std::size_t>(N, 32)> items_;
  std::size_t size_ = 0;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_INLINE_VECTOR_H_
