// How a map at rest (concept.h) is built: how many nodes it has, how deep they lie, how much memory
// they take.
//
//     class my_map {
//      public:
//       assay::shape shape() const { return {.nodes = nodes_, .bytes = nodes_ * sizeof(node)}; }
//       ...
//     };
//     const assay::shape found = assay::shape_of(map);   // all empty if the map does not say
//
// A map gives the numbers that it has and leaves the others empty.

#ifndef ASSAY_MAPS_SHAPE_H_
#define ASSAY_MAPS_SHAPE_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

namespace assay {

struct shape {
  std::optional<std::uint64_t> nodes{};
  // An element's depth: nodes on the way to it, the first node and its own included.
  std::optional<std::uint64_t> max_depth{};
  std::optional<double> mean_depth{};
  // What the map has from the allocator for its elements and the nodes that lead to them, as it
  // requested it: without what the allocator adds, and without what waits to be freed.
  std::optional<std::uint64_t> bytes{};
};

template <class Map>
concept tells_shape = requires(Map& map) {
  { map.shape() } -> std::same_as<shape>;
};

// At rest. Throws what the map throws.
template <class Map>
[[nodiscard]] shape shape_of(Map& map) {
  if constexpr (tells_shape<Map>) return map.shape();
  return {};
}

// Adds up the shape of a tree while its nodes are visited.
class shape_sum {
 public:
  void add_node(std::size_t bytes) {
    ++nodes_;
    add_bytes(bytes);
  }
  void add_bytes(std::size_t bytes) { bytes_ += bytes; }
  void add_elements(std::uint64_t number, std::uint64_t depth) {
    if (number == 0) return;
    elements_ += number;
    depths_ += number * depth;
    max_depth_ = std::max(max_depth_, depth);
  }
  // What a key or a value has from the allocator itself. If that is not known, nor are the bytes.
  template <class T>
  void add_owned(const T& held) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      static_cast<void>(held);
    } else if constexpr (std::same_as<T, std::string>) {
      // A short string is within its object.
      const auto* const object = reinterpret_cast<const char*>(&held);
      const std::less<> before;
      const bool within =
          !before(held.data(), object) && before(held.data(), object + sizeof(held));
      if (!within) bytes_ += held.capacity() + 1;
    } else {
      knows_bytes_ = false;
    }
  }

  [[nodiscard]] shape sum() const {
    shape all{.nodes = nodes_};
    if (knows_bytes_) all.bytes = bytes_;
    if (elements_ == 0) return all;
    all.max_depth = max_depth_;
    all.mean_depth = static_cast<double>(depths_) / static_cast<double>(elements_);
    return all;
  }

 private:
  std::uint64_t nodes_ = 0;
  std::uint64_t elements_ = 0;
  std::uint64_t depths_ = 0;
  std::uint64_t max_depth_ = 0;
  std::uint64_t bytes_ = 0;
  bool knows_bytes_ = true;
};

}  // namespace assay

#endif  // ASSAY_MAPS_SHAPE_H_
