// How a tree of radix_tree.h is filled at once.

#ifndef ASSAY_MAPS_RADIX_LOAD_H_
#define ASSAY_MAPS_RADIX_LOAD_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/radix_key.h"
#include "assay/maps/radix_node.h"

namespace assay::radix::inline ASSAY_ABI {

// Makes nodes of elements in ascending order.
template <class Tree>
class loading {
  using types = typename Tree::types;
  using words = typename Tree::words;
  using keys = typename Tree::keys;
  using entry = typename Tree::entry;
  using leaf = typename Tree::leaf;
  using edge = typename Tree::edge;

 public:
  explicit loading(const Tree& tree) : tree_(tree) {}
  loading(const loading&) = delete;
  loading& operator=(const loading&) = delete;
  // What was not taken is deleted; the elements are not.
  ~loading() {
    for (const edge each : made_) {
      if (types::is_leaf(each)) {
        Tree::memory::destroy(types::leaf_at(each));
      } else {
        Tree::destroy_inner(each);
      }
    }
  }

  // A tree of the elements from `from` to `end`. Not by recursion, as the ways of byte strings may
  // be too long for that. Throws std::bad_alloc.
  [[nodiscard]] edge build(const entry* from, const entry* end) {
    for (;;) {
      edge done = leaf_of(from, end);
      if (done == 0) open_.push_back({from, from, end, depth_of(from, end), {}});
      while (done != 0 && !open_.empty()) {
        part& parent = open_.back();
        parent.children.push_back({digit_of(parent.next, parent.depth), done});
        parent.next = end;
        if (end != parent.end) break;
        done = node_of(parent);
        open_.pop_back();
      }
      if (open_.empty()) return done;
      from = open_.back().next;
      end = end_of_child(open_.back());
    }
  }
  // All that was made is in the tree.
  void release() { made_.clear(); }

 private:
  using depth_type = decltype(keys::depth_of_difference(
      std::declval<const typename keys::sought&>(), std::declval<const typename keys::sought&>()));
  struct child {
    int digit;
    edge to;
  };
  // An inner node whose children are being made.
  struct part {
    const entry* begin;
    const entry* next;  // where the next child begins
    const entry* end;
    depth_type depth;
    std::vector<child> children;
  };

  static constexpr std::size_t most = bt::nearly_full(Tree::leaf_capacity);

  // A leaf of these elements, or 0 if they need more than one.
  [[nodiscard]] edge leaf_of(const entry* from, const entry* end) {
    if (static_cast<std::size_t>(end - from) <= most) return fill(make<leaf>(), from, end);
    if constexpr (types::has_direct) {
      if (depth_of(from, end) > keys::most_depth) {
        return fill(make<leaf>(seek(from) >> keys::last_bits << keys::last_bits), from, end);
      }
    }
    return 0;
  }
  // Where the next child ends: it has as many digits as one leaf has room for, or one digit.
  static const entry* end_of_child(const part& parent) {
    const entry* end = parent.next;
    for (;;) {
      const entry* next = end;
      while (next != parent.end && digit_of(next, parent.depth) == digit_of(end, parent.depth)) {
        ++next;
      }
      if (end != parent.next && static_cast<std::size_t>(next - parent.next) > most) return end;
      end = next;
      if (end == parent.end) return end;
    }
  }
  [[nodiscard]] edge node_of(const part& done) {
    const std::vector<child>& children = done.children;
    const typename Tree::label begins(seek(done.begin), done.depth);
    const auto with = [&](auto& node) {
      for (const child& each : children) node.append(each.digit, each.to);
      return types::edge_to(&node);
    };
    if (children.size() <= Tree::narrow::most_children) {
      return with(make<typename Tree::narrow>(begins));
    }
    const auto fit_in = [&]<class Node>(const Node* /*type*/) {
      return std::all_of(children.begin() + 1, children.end(),
                         [](const child& each) { return Node::has_place_for(each.digit); });
    };
    if (fit_in(static_cast<typename Tree::middle*>(nullptr))) {
      return with(make<typename Tree::middle>(begins));
    }
    if (fit_in(static_cast<typename Tree::wide*>(nullptr))) {
      return with(make<typename Tree::wide>(begins));
    }
    return with(make<typename types::widest>(begins));
  }

  static auto seek(const entry* at) { return Tree::seek(words::key(at->key)); }
  static int digit_of(const entry* at, depth_type depth) { return keys::digit_at(seek(at), depth); }
  // At which depth the first and the last of these differ.
  static depth_type depth_of(const entry* from, const entry* end) {
    return keys::depth_of_difference(seek(from), seek(end - 1));
  }
  static edge fill(leaf& node, const entry* from, const entry* end) {
    for (; from != end; ++from) node.put(*from);
    return types::edge_to(&node);
  }
  template <class Node, class... Arguments>
  Node& make(const Arguments&... arguments) {
    if (made_.size() == made_.capacity()) made_.reserve(2 * made_.size() + 8);
    auto* const node = tree_.template make<Node>(arguments...);
    made_.push_back(types::edge_to(node));
    return *node;
  }

  const Tree& tree_;
  std::vector<edge> made_;
  std::vector<part> open_;  // each is below the one before
};

// As bt_map::load_sorted().
template <class Tree, std::forward_iterator Iterator>
void load_sorted(Tree& tree, Iterator first, Iterator last) {
  using types = typename Tree::types;
  using words = typename Tree::words;
  using entry = typename Tree::entry;

  const typename Tree::edge before = tree.root.load(memory_order_acquire);
  if (!types::is_leaf(before) || types::leaf_at(before)->places() != 0) {
    throw std::logic_error("radix_map::load_sorted: the map is not empty; clear() it before");
  }
  std::vector<entry> all;
  try {
    all.reserve(static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) {
      if (!all.empty() && !tree.less(words::key(all.back().key), (*first).first)) {
        throw std::invalid_argument("radix_map::load_sorted: the key at position " +
                                    std::to_string(all.size()) + " is not above the one before it");
      }
      typename Tree::fresh_entry fresh(tree);
      fresh.make((*first).first, (*first).second);
      all.push_back(fresh.get());
      fresh.release();
    }
    if (all.empty()) return;
    loading<Tree> made(tree);
    const typename Tree::edge top = made.build(all.data(), all.data() + all.size());
    made.release();
    Tree::memory::destroy(types::leaf_at(before));
    tree.root.store(top, memory_order_release);  // (1) of bt_node.h
  } catch (...) {
    for (const entry& each : all) Tree::destroy(each);
    throw;
  }
}

}  // namespace assay::radix::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_LOAD_H_
