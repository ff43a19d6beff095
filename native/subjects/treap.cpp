// A search tree behind one lock: the same map three times. Two things differ: the lock, and whether
// who updates asks first if there is anything to change, which pays where asking takes no lock.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/locks/optimistic_section.h"
#include "assay/maps/plain_handle.h"
#include "assay/random/splitmix64.h"
#include "assay/subject/subject.h"

namespace {

using number = std::uint64_t;

// Sections of a lock that excludes, with the interface of sync::optimistic_section.
template <class Lock>
class excluding_section {
  static constexpr bool shareable = requires(Lock& lock) { lock.lock_shared(); };
  using read_guard = std::conditional_t<shareable, std::shared_lock<Lock>, std::unique_lock<Lock>>;

 public:
  struct change {
    void begin() noexcept {}
  };

  template <class F>
  [[gnu::always_inline]] auto read(F&& f) {
    const read_guard held(lock_);
    return f();
  }
  template <class F>
  auto write(F&& f) {
    const std::scoped_lock held(lock_);
    change none;
    return f(none);
  }

 private:
  Lock lock_;
};

// A treap (Seidel and Aragon 1996): a search tree by keys that is a heap by priorities. The
// priority of a key is random::mix64() of it, which no other key has, and looks random: so the tree
// is as it would be had its keys come in random order, whatever order they come in: a path has 2 ln
// n nodes or so, and an insert or an erase writes a few words of two or three nodes. So those who
// search find nearly all that they read where it was, in their own caches: that is what an
// optimistic section asks of what it protects.
//
// All operations are atomic. They are blocking, but with an optimistic section searches and visits
// wait for nobody unless they were disturbed eight times. A visit copies what it meets first. What
// is erased is kept for the next insert, as a reader may be on it: it belongs to the tree until the
// end.
template <class Section>
class alignas(64) treap {  // with the lock, the root and the size in one line
  template <class T>
  using word = assay::sync::section_word<T>;

  struct node {
    word<number> key;
    word<number> value;
    std::array<word<node*>, 2> child;  // the lesser keys, the greater ones
  };

 public:
  static constexpr bool ordered = true;

  bool insert(number key, number value) {
    if (asks_first && find(key)) return false;
    return section_.write([&](auto& change) {
      const number priority = assay::random::mix64(key);
      word<node*>* at = &root_;
      node* here = at->read();
      // Whatever is below a node of less priority has less too, and so another key.
      while (here != nullptr && assay::random::mix64(here->key.read()) >= priority) {
        const number other = here->key.read();
        if (other == key) return false;
        at = &here->child[other < key ? 1 : 0];
        here = at->read();
      }
      change.begin();
      node* const added = unused_node();
      added->key.write(key);
      added->value.write(value);
      split(here, key, *added);
      at->write(added);
      size_.write(size_.read() + 1);
      return true;
    });
  }

  bool erase(number key) {
    if (asks_first && !find(key)) return false;
    return section_.write([&](auto& change) {
      word<node*>* at = &root_;
      node* here = at->read();
      while (here != nullptr && here->key.read() != key) {
        at = &here->child[here->key.read() < key ? 1 : 0];
        here = at->read();
      }
      if (here == nullptr) return false;
      change.begin();
      join(here->child[0].read(), here->child[1].read(), *at);
      here->child[0].write(unused_);
      unused_ = here;
      size_.write(size_.read() - 1);
      return true;
    });
  }

  [[gnu::always_inline]] std::optional<number> find(number key) {
    const auto [found, value] = section_.read([&] {
      const node* here = root_.read();
      // No path is longer, but those that changes make for a reader who meets them halfway.
      for (std::size_t left = size_.read(); here != nullptr && left > 0; --left) {
        const number other = here->key.read();
        if (other == key) return std::pair(true, here->value.read());
        here = here->child[other < key ? 1 : 0].read();
      }
      return std::pair(false, number{0});
    });
    return found ? std::optional(value) : std::nullopt;
  }

  std::uint64_t size() {
    return section_.read([&] { return size_.read(); });
  }

  template <class Visit>
  void range(number first, number last, Visit visit) {
    std::vector<std::pair<number, number>> met;
    section_.read([&] {
      met.clear();
      std::vector<const node*> above;
      std::size_t left = 2 * size_.read();
      const node* here = root_.read();
      while (left > 0 && (here != nullptr || !above.empty())) {
        --left;
        if (here != nullptr) {
          const bool less = here->key.read() < first;
          if (!less) above.push_back(here);
          here = here->child[less ? 1 : 0].read();
          continue;
        }
        here = above.back();
        above.pop_back();
        if (last < here->key.read()) return;
        met.emplace_back(here->key.read(), here->value.read());
        here = here->child[1].read();
      }
    });
    for (const auto& [key, value] : met) visit(key, value);
  }
  template <class Visit>
  void snapshot(Visit visit) {
    range(0, ~number{0}, visit);
  }
  template <class Visit>
  void iterate(Visit visit) {
    snapshot(visit);
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    snapshot([&](number key, number value) { visit(key, value); });
  }

 private:
  // Half of all updates change nothing: who asks first then takes no lock, where readers take none.
  // Behind a std::mutex the other half would take it twice.
  static constexpr bool asks_first = std::same_as<Section, assay::sync::optimistic_section<>>;

  // All by a writer.
  node* unused_node() {
    if (unused_ == nullptr) return &all_.emplace_back();
    node* const taken = unused_;
    unused_ = taken->child[0].read();
    return taken;
  }
  // Makes what is below `from` the children of `to`, which has `key`.
  static void split(node* from, number key, node& to) {
    std::array ends{&to.child[0], &to.child[1]};
    while (from != nullptr) {
      const bool less = from->key.read() < key;
      word<node*>*& end = ends[less ? 0 : 1];
      end->write(from);
      end = &from->child[less ? 1 : 0];
      from = end->read();
    }
    for (word<node*>* const end : ends) end->write(nullptr);
  }
  // Puts two trees, of which one has the lesser keys, where a node was.
  static void join(node* lesser, node* greater, word<node*>& at) {
    word<node*>* end = &at;
    while (lesser != nullptr && greater != nullptr) {
      const bool first =
          assay::random::mix64(lesser->key.read()) > assay::random::mix64(greater->key.read());
      node*& from = first ? lesser : greater;
      end->write(from);
      end = &from->child[first ? 1 : 0];
      from = end->read();
    }
    end->write(lesser != nullptr ? lesser : greater);
  }

  Section section_;
  word<node*> root_{nullptr};
  word<std::size_t> size_{0};
  // Used by writers.
  node* unused_ = nullptr;
  std::deque<node> all_{};
};

using optimistic = treap<assay::sync::optimistic_section<>>;
using shared = treap<excluding_section<std::shared_mutex>>;
using exclusive = treap<excluding_section<std::mutex>>;

const assay::subject::map<optimistic> registered{
    "treap_optimistic",
    "a search tree behind one sync::optimistic_section over std::mutex: readers write nothing",
    "nothing"};
const assay::subject::map<shared> registered_shared{
    "treap_shared_mutex", "treap_optimistic, behind one std::shared_mutex", "nothing"};
const assay::subject::map<exclusive> registered_exclusive{
    "treap_mutex", "treap_optimistic, behind one std::mutex", "nothing"};

}  // namespace
