// How a tree of bt_tree.h is filled at once: bottom up, level after level.

#ifndef ASSAY_MAPS_BT_LOAD_H_
#define ASSAY_MAPS_BT_LOAD_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/maps/bt_node.h"

namespace assay::bt::inline ASSAY_ABI {

// As bt_map::load_sorted().
template <class Tree, std::forward_iterator Iterator>
void load_sorted(Tree& tree, Iterator first, Iterator last) {
  using types = typename Tree::types;
  using words = typename Tree::words;
  using leaf = typename Tree::leaf;
  using internal = typename Tree::internal;
  using edge = typename Tree::edge;
  using memory = typename Tree::memory;

  const edge before = tree.root.load(memory_order_acquire);
  if (!types::is_leaf(before) || types::leaf_at(before)->places() != 0) {
    throw std::logic_error("bt_map::load_sorted: the map is not empty; clear() it before");
  }
  // Nodes of one level, and the greatest key below each, which separates it from the next.
  struct made {
    edge node;
    typename Tree::key_word greatest;
  };
  std::vector<made> row;
  try {
    const auto spread = [](std::size_t items, std::size_t capacity) {
      const std::size_t each = nearly_full(capacity);
      return std::max<std::size_t>((items + each - 1) / each, 1);
    };
    const auto elements = static_cast<std::size_t>(std::distance(first, last));
    const std::size_t leaves = spread(elements, Tree::leaf_capacity);
    row.reserve(leaves);
    std::size_t done = 0;
    for (std::size_t i = 0; i < leaves && elements > 0; ++i) {
      leaf* const node = tree.template make<leaf>();
      row.push_back({types::edge_to(node), {}});
      for (; done < (i + 1) * elements / leaves; ++done, ++first) {
        if (done > 0 &&
            !tree.less(words::key(row[row.size() - (node->places() == 0 ? 2 : 1)].greatest),
                       (*first).first)) {
          throw std::invalid_argument("bt_map::load_sorted: the key at position " +
                                      std::to_string(done) + " is not above the one before it");
        }
        typename Tree::fresh_entry fresh(tree);
        fresh.make((*first).first, (*first).second);
        node->put(fresh.get());
        row.back().greatest = fresh.get().key;
        fresh.release();
      }
    }
    while (row.size() > 1) {
      const std::size_t nodes = spread(row.size(), Tree::internal_capacity);
      std::vector<made> above;
      above.reserve(nodes);
      std::vector<std::unique_ptr<internal, typename memory::deleter>> made_nodes;
      made_nodes.reserve(nodes);  // so that no node is lost where there is no memory for its place
      for (std::size_t i = 0; i < nodes; ++i)
        made_nodes.emplace_back(tree.template make<internal>());
      for (std::size_t i = 0; i < nodes; ++i) {
        internal& node = *made_nodes[i].release();
        const std::size_t from = i * row.size() / nodes;
        const std::size_t size = (i + 1) * row.size() / nodes - from;
        for (std::size_t child = 0; child < size; ++child) {
          node.set_child(child, row[from + child].node);
          if (child + 1 == size) break;
          node.set_key(child, row[from + child].greatest);
          Tree::own_separator(row[from + child].greatest);
        }
        node.set_size(size);
        above.push_back({types::edge_to(&node), row[from + size - 1].greatest});
      }
      row = std::move(above);
    }
  } catch (...) {
    for (const made& each : row) Tree::delete_tree(each.node);
    throw;
  }
  if (row.empty()) return;
  memory::destroy(types::leaf_at(before));
  tree.root.store(row.front().node, memory_order_release);  // (1) of bt_node.h
}

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_LOAD_H_
