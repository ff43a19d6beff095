// A set of unique entries in order that many threads search and change at once, without locks: the
// ELB-tree of Bonnichsen, Karlsson and Probst (MuCoCoS 2013; Bonnichsen 2016, section 5.4).
//
//     assay::elb_tree<std::uint64_t> jobs;
//
//     auto handle = jobs.attach();                  // in each thread
//     handle.insert(42);                            // true; false if 42 is there
//     handle.search(40, 50);                        // std::optional(42)
//     handle.erase(0, 100);                         // std::optional(42): the smallest
//
//     jobs.for_each([](std::uint64_t job) { ... }); // at rest: while no call runs
//
// A lock stops all threads when the thread that holds it is stopped. Here an entry is one word, and
// most operations change one word by one compare-and-swap. The price is linearizability: an
// operation reads one word after the other, and what it answers was true of each word at some
// moment, but not of all at the same moment.
//
// Promises
// --------
// Let O be the entries that were in the tree all the time from the beginning of a call to its end,
// and U those that were in it at any moment between (Bonnichsen 2016, section A.3).
//
// - insert(e) adds e and returns true, or returns false because e was in the tree at some moment
//   of the call. Between two calls that return true for the same entry, an erase has removed it: of
//   two that run at the same time, exactly one returns true (see "One insert of an entry").
// - insert_new(e) adds e if it is not in U (theorem A.16). The caller must make sure that it is
//   not, and that no other thread is adding it: otherwise e may be in the tree twice. Debug builds
//   abort if they see it.
// - search(lo, hi) returns an entry in [lo, hi] that is in U (A.13), or none, if there is none in O
//   (A.12).
// - erase(lo, hi) removes an entry in [lo, hi] that is in U, and no entry of [lo, hi] in O is
//   smaller (A.15), or it answers that there was none in O (A.14). No other call returns what it
//   has removed.
//
// Each of them is lock-free, with two exceptions: the allocator may take locks, and with
// reclaim::epochs a thread that stalls holds up the freeing of memory. Each takes time logarithmic
// in the number of entries, and as much again for each further leaf that the range reaches into
// before an entry is found.
//
// A call that throws std::bad_alloc has done nothing, except that a visit may have met entries. It
// may leave a balancing unfinished: the next call that passes there, also a search, continues it,
// and needs memory again.
//
// The idea
// --------
// Entries are in leaves, in no order; a place that is free holds 0. Every place has a *read-only
// bit*. A leaf with this bit set in all its places, used or free, is *closed*: it changes no more.
// Internal nodes hold separators and children: child i has what is above separator i - 1 and at
// most separator i. Only the pointers to children change.
//
// An insert that meets a leaf with too many entries balances it first, and so does an erase that
// meets one with too few. Internal nodes above it with too many or too few children are balanced
// before it. Balancing replaces a *parent*. In the new one the unbalanced child, the *node*, is
// split, or joined with its *sibling*. The pointer to the parent is in the *grandparent*. Only the
// real root would have none, so a *fake root* that never changes is above it.
//
// Any thread can continue a balancing from the word in the grandparent's `status` (help()):
//
//     step 1   grandparent: 0 -> {step 2, which child, its number, which of that one's children}
//     step 2   parent:      0 -> step 3       its children change no more
//     step 3   node:        0 -> step 4       likewise; a leaf gets its read-only bits instead
//     step 4   sibling:     0 -> step 5       likewise, if the two are joined
//     step 5   grandparent's pointer: parent -> a new parent; then its status -> 0
//
// A status other than 0 is in the way of others. A thread that needs the status of a grandparent
// with one first helps that balancing to its end. There it may meet another one further down, and
// helps that first. A node at step 3, 4 or 5 is *dead*, and stays dead: it is replaced. A dead node
// need not say by which balancing: all ways from the root to it pass the grandparent, whose status
// says it.
//
// One insert of an entry
// ----------------------
// Two threads that insert e at the same time may find different places free, and neither sees the
// other. So insert(e) takes one of the leaf's 64 *claims* before it looks, and gives it back when
// its entry is in a place; e always has the same claim. A thread that cannot get its claim, as the
// other one is stopped, does not wait for long: it writes e as the leaf's *wish* and closes the
// leaf. The entries of a closed leaf are those in its places and its wish.
//
// docs/guide/elb_trees.md lists how this differs from the thesis, and mistakes in its listings.
//
// Why it is right
// ---------------
// 1. *While a grandparent is at step 2, it is not replaced, and its pointer to the parent is
//    changed by this balancing alone.* To replace it, or another child of it, a balancing must
//    change its status from 0.
// 2. *Only this balancing makes its parent, node and sibling dead.* Another balancing that wants to
//    make them dead needs the status of their parents. That is either the grandparent's, which it
//    does not get by (1), or the parent's. A helper that was delayed finds all of them dead. If the
//    balancing has ended, they are dead and unlinked.
// 3. *All helpers do the same.* They decide by what is dead or read-only, which never changes. Each
//    helper makes new nodes, and the nodes of only one of them are linked: the pointer to the
//    parent changes once, as by (2) the parent is not linked again.
// 4. *A status that comes too late does no harm.* A thread may set a status for a parent that has
//    been replaced since the thread read it. Whoever finds another node in the parent's place
//    clears the status, and does nothing else.
// 5. *Nothing is taken for another (ABA).* Each compare-and-swap expects 0, a status, or the
//    parent's address. The address is expected only while the thread protects the parent: the
//    parent is not freed then, so no other node has its address. A status names the parent by a
//    number that no other node of the tree has had, until 2^43 have been made. The address would
//    not do in a status: a thread that finds the parent replaced does not protect it, and could
//    clear, too late, the status of a new parent at the same address. A status of the same parent
//    that was cleared and set again may be cleared at any time, by (4).
// 6. *A leaf may be closed before a balancing begins*, by an insert that makes a wish. Its entries
//    are what (3) reads, only earlier. Whoever meets it and wants to change it balances it.
// 7. *insert(e) adds e only where it is not.* A thread that has the claim looks at all places and
//    then fills one. Meanwhile no other insert(e) fills a place of this leaf, by the claim; nor one
//    of a leaf that takes its place, as the exchange succeeds only before that place is closed, and
//    the new leaf is made of what was in all places when they were closed. A wish counts from when
//    it is read-only, which it becomes after all places: then it is decided whether e is in one.
// 8. *insert() is lock-free.* It tries again if the leaf was closed or is to be balanced, which is
//    another operation's progress or a step of its own; if another place was filled; or if there
//    was a wish already, which is completed when it has closed the leaf. A thread that is stopped
//    with a claim is in the way of each other thread once: then the leaf is replaced.
//
// Memory order
// ------------
// (a) Pointers to children are set by release and read by acquire. So a node is seen as it was
//     filled.
// (b) A status is changed by acquire and release. A thread that closes a node changes its status
//     from 0, so it acquires what the thread released that had set it to 0: all that this thread
//     had seen and done, such as the last change of a child. So after a node is dead, the thread
//     that closed it, and every thread that acquires its dead status, read the children that stay.
// (c) A status is read by acquire after the child was announced and read again. A thread that
//     retires this child has first closed its parent, or found it closed, then passed a heavy
//     fence, and then reads announcements. The reader's light fence is between its announcement and
//     its reading of the status (hazard_pointers.h). So either the reader finds the parent dead, or
//     the thread that retires the child finds the announcement.
// (d) Words of leaves are changed by acquire and release too (elb_entry.h). A thread that makes a
//     word read-only, or finds it read-only, reads the entry that stays.
// (e) A claim is taken by acquire and given back by release. So a thread that has it sees what the
//     threads that had it before have put into places.
//
// Reclamation
// -----------
// With hazard pointers, a thread protects the last three nodes on its way, and one sibling, by four
// slots (section 5.4.2). It has reached a node safely when, after it announced the node, the parent
// still holds the node and then is not dead. The parent is protected, and a node is dead before it
// is unlinked; so both were linked at that time. Below a dead parent, in help(), the thread reads
// the grandparent's pointer again instead: the children are retired after that pointer has changed.

#ifndef ASSAY_MAPS_ELB_TREE_H_
#define ASSAY_MAPS_ELB_TREE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/draw.h"
#include "assay/base/instruction_set.h"
#include "assay/base/point.h"
#include "assay/maps/elb_entry.h"
#include "assay/maps/shape.h"
#include "assay/maps/vector_search.h"
#include "assay/reclaim/checks.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/hazard_pointers.h"

namespace assay {

// How wide nodes are, and when they are balanced. A program may have its own settings:
//
//     struct tighter : assay::elb_nodes<32> {
//       static constexpr std::size_t sparse = 8;
//     };
template <std::size_t Entries, std::size_t Children = Entries>
struct elb_nodes {
  static constexpr std::size_t leaf_capacity = Entries;
  static constexpr std::size_t internal_capacity = Children;
  // A leaf with more entries is split; one with at most this many is joined with its sibling.
  static constexpr std::size_t dense = std::max<std::size_t>(5, Entries * 13 / 16);
  static constexpr std::size_t sparse = std::max<std::size_t>(1, Entries / 8);
  // An internal node with at most this many children is joined with its sibling.
  static constexpr std::size_t sparse_internal = std::max<std::size_t>(1, Children / 8);
  // How often an insert tries to get a claim before it closes the leaf.
  static constexpr unsigned patience = 64;
};
// The three layouts of the thesis: for multimaps (section 5.5.2), where a leaf is split above 26
// entries and joined up to 4; for queues (5.5.3); and for a database (5.5.1), with nodes of 4096
// bytes.
using elb_settings = elb_nodes<32>;
using elb_narrow = elb_nodes<16>;
using elb_wide = elb_nodes<512, 252>;

// Any thread may call its functions; those that say "at rest" need the tree at rest (concept.h): no
// other thread calls anything, and what others did happened before.
template <class Entry, class Reclaim = reclaim::hazard_pointers, class Settings = elb_settings>
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what is written often stands apart
class elb_tree {
  static_assert(reclaim::policy<Reclaim>,
                "the second parameter of elb_tree is not a reclamation policy: use "
                "reclaim::hazard_pointers, reclaim::epochs or reclaim::none, or a type that does "
                "what assay/reclaim/concept.h asks of one.");
  static_assert(6 <= Settings::leaf_capacity && 6 <= Settings::internal_capacity,
                "a node of elb_tree holds at least 6 entries or children");
  static_assert(
      requires { typename elb::coding<Entry>::word; },
      "entries of elb_tree are unsigned integers or elb::element, a key with a value; "
      "another type needs a coding (assay/maps/elb_entry.h)");
  static_assert(4 < Settings::dense && Settings::dense < Settings::leaf_capacity,
                "a leaf of elb_tree is dense from more than 4 entries on and before it is full");
  // Balancing must not make a sparse leaf, neither as half of a leaf that it splits nor as one of
  // two that it makes of a sparse leaf and its sibling: it would go on for ever.
  static_assert((Settings::dense + 1) / 2 > Settings::sparse,
                "half of a leaf of elb_tree that is split must not be sparse: dense is more than "
                "twice sparse");
  static_assert(2 * Settings::sparse < 2 * (Settings::leaf_capacity + 2) / 3,
                "a leaf of elb_tree is sparse with less than a third of its capacity");
  static_assert(
      1 <= Settings::sparse_internal &&
          2 * Settings::sparse_internal < 2 * (Settings::internal_capacity + 2) / 3,
      "an internal node of elb_tree is sparse with 1 child, and with less than a third of "
      "its capacity");

  friend struct elb_damage;  // of tests, to see what broken_invariant() tells

  using coding = elb::coding<Entry>;
  using word = typename coding::word;
  using place = elb::place<word>;
  static constexpr word read_only = elb::read_only<word>;
  static constexpr word greatest = read_only - 1;
  static constexpr word entry_in(word held) { return held & ~read_only; }

  static constexpr std::size_t leaf_capacity = Settings::leaf_capacity;
  static constexpr std::size_t internal_capacity = Settings::internal_capacity;
  // Two nodes with at most this many entries or children together become one (section 5.4).
  static constexpr std::size_t few(std::size_t capacity) { return 2 * (capacity + 2) / 3; }

  // A status is 0, or a step. With step 2 it also says where the parent is among the children of
  // the grandparent, the parent's number, and which of the parent's children is meant.
  using status_word = std::uint64_t;
  static constexpr status_word step_mask = 7;
  static constexpr status_word step_2 = 2;
  static constexpr status_word step_3 = 3;
  static constexpr status_word step_4 = 4;
  static constexpr status_word step_5 = 5;
  static constexpr unsigned parent_shift = 3;
  static constexpr unsigned child_shift = 12;
  static constexpr unsigned number_shift = 21;
  static constexpr std::size_t parent_itself = 511;  // instead of a child
  static_assert(internal_capacity <= parent_itself,
                "a node of elb_tree holds at most 511 children");
  static constexpr bool is_dead(status_word status) { return (status & step_mask) > step_2; }
  static constexpr bool is_balancing(status_word status) { return (status & step_mask) == step_2; }

  using set = host::instruction_set;

  static constexpr std::size_t line = 64;
  struct alignas(line) leaf {
    std::array<place, leaf_capacity> places{};
    // Bit i is set while an insert has claim i.
    atomic<std::uint64_t> claims{0};
    // The entry of an insert that did not get its claim; read-only if the leaf is closed.
    place wish{};

    // After all places are read-only, so that nobody sees a wish that counts beside places that
    // change.
    void close() {
      for (place& each : places) {
        ASSAY_POINT("elb_close_leaf");
        each.make_read_only();
      }
      wish.make_read_only();
    }
    [[nodiscard]] bool is_closed() const { return (wish.load() & read_only) != 0; }
    // The wish, if it counts; else 0.
    [[nodiscard]] word granted() const {
      const word held = wish.load();
      return (held & read_only) != 0 ? entry_in(held) : 0;
    }
  };
  struct alignas(line) internal {
    internal(std::uint32_t height_, std::uint64_t number_) : height(height_), number(number_) {
      separators.fill(greatest);
    }

    // Separator i is the greatest entry that may be below child i; it is the greatest of all where
    // there is no child. They come first, so that they begin on a cache line.
    std::array<word, internal_capacity> separators{};
    std::array<atomic<void*>, internal_capacity> children{};
    atomic<status_word> status{0};
    std::uint32_t size = 0;
    const std::uint32_t height;  // above the leaves
    const std::uint64_t number;  // among all internal nodes that the tree has had

    // The child below which the entry belongs. All are compared, so that none is guessed.
    template <set Set>
    [[nodiscard]] std::size_t child_of(word entry) const {
      std::size_t below = 0;
      if constexpr (sizeof(word) == 8 && Set != set::scalar) {
        // Separators do not change, so they are plain words; the function takes atomic ones.
        const auto* const all = reinterpret_cast<const atomic<word>*>(separators.data());
        for_chunks<internal_capacity, 56>([&]<std::size_t From, std::size_t N>() {
          below += vector_search::count_less<Set, N>(all + From, entry);
        });
      } else {
        for (const word each : separators) below += each < entry ? 1U : 0U;
      }
      return below;
    }
    [[nodiscard]] void* child(std::size_t i) const {
      return children[i].load(memory_order_acquire);  // (a)
    }
    void add(void* child, word upto) {
      separators[size] = upto;
      children[size++].store(child, memory_order_relaxed);  // nobody else knows the node yet
    }
  };

  // The status while `parent`, the grandparent's child number `at`, is balanced.
  static status_word balancing(const internal& parent, std::size_t at, std::size_t child) {
    return parent.number << number_shift | status_word{child} << child_shift |
           status_word{at} << parent_shift | step_2;
  }
  static std::size_t parent_in(status_word status) { return status >> parent_shift & 511; }
  static std::size_t child_in(status_word status) { return status >> child_shift & 511; }
  // Whether the status is about this parent, which is where the status says.
  static bool names(status_word status, const internal& parent) {
    return (status ^ parent.number << number_shift) >> number_shift == 0;
  }

  using guard_type = typename Reclaim::guard;
  // A thread protects a child by one of four slots, its parent by the one before, and so on.
  static constexpr std::size_t after(std::size_t slot, std::size_t n) { return (slot + n) % 4; }

  // Where a way down has come to.
  struct whereabouts {
    internal* grandparent = nullptr;
    internal* parent = nullptr;
    void* child = nullptr;
    std::size_t parent_at = 0;  // of the grandparent's children
    std::size_t which = 0;      // of the parent's children
    std::size_t slot = 0;       // the child's
    word upto = greatest;       // the greatest entry that may be below the child
  };

 public:
  using value_type = Entry;

  // As far as the allocator and the reclamation of memory are.
  static constexpr bool lock_free = place::lock_free;

  // A thread's access to the tree. Only the thread that attached it calls it, and not within a call
  // to it, as from a visit. It is destroyed before the tree is, outside its calls, by that thread
  // or by one that knows that it is done. Debug builds abort, with a message, on a call by another
  // thread, within a call, or after it was moved from, and when it outlives its tree.
  class handle {
   public:
    // Adds the entry and returns true, or returns false if it is in the tree; of two calls at the
    // same time one returns true. Lock-free. Throws std::bad_alloc, and std::out_of_range for a
    // number that cannot be an entry (elb_entry.h), with nothing added.
    bool insert(Entry entry) {
      const word coded = coding::encode(entry);
      return tree_->by_vectors(
          [&]<set Set>() { return tree_->template insert_as<Set>(coded, me_); });
    }

    // Inserts the entries from `first` to `last`, one after the other, and returns how many of them
    // were not there. Lock-free, if the iterators are. Throws as insert() and what the iterators
    // throw, with the entries before added.
    template <std::input_iterator From, std::sentinel_for<From> To>
    std::size_t insert_range(From first, To last) {
      std::size_t added = 0;
      for (; first != last; ++first) added += insert(*first) ? 1U : 0U;
      return added;
    }

    // Adds the entry without looking whether it is in the tree: it must not be, and no other thread
    // may be adding it; see "Promises". Lock-free. Throws as insert().
    void insert_new(Entry entry) {
      const word coded = coding::encode(entry);
      tree_->by_vectors([&]<set Set>() { tree_->template insert_new_as<Set>(coded, me_); });
    }

    // Removes the smallest entry in [lo, hi] and returns it; "Promises" says what that means while
    // others change the tree. Lock-free. Throws std::bad_alloc, with nothing erased.
    [[gnu::always_inline]] std::optional<Entry> erase(Entry lo, Entry hi) {
      const word from = coding::first(lo);
      const word to = coding::last(hi);
      return decoded(tree_->by_vectors(
          [&]<set Set>() { return tree_->template erase_as<Set>(from, to, me_); }));
    }

    // Removes one of the smallest entries in [lo, hi]: any of the first leaf that has one. Threads
    // that call it at the same time seldom want the same entry. It promises what erase() does,
    // except that entries in O may be smaller, fewer than a leaf holds.
    [[gnu::always_inline]] std::optional<Entry> erase_near(Entry lo, Entry hi) {
      const word from = coding::first(lo);
      const word to = coding::last(hi);
      const std::size_t start = random_() % leaf_capacity;
      return decoded(tree_->by_vectors(
          [&]<set Set>() { return tree_->template erase_as<Set>(from, to, me_, start); }));
    }

    // An entry in [lo, hi], if there is one: see "Promises". Lock-free. Throws std::bad_alloc.
    [[gnu::always_inline]] std::optional<Entry> search(Entry lo, Entry hi) {
      const word from = coding::first(lo);
      const word to = coding::last(hi);
      return decoded(tree_->by_vectors(
          [&]<set Set>() { return tree_->template search_as<Set>(from, to, me_); }));
    }

    // Calls visit(entry) for entries in [lo, hi], in ascending order: for each in O, and for some
    // of the others that are in U. `visit` calls nothing of this handle. Lock-free, if `visit` is.
    // Throws std::bad_alloc and what `visit` throws, after some entries or none.
    template <class Visit>
    void visit(Entry lo, Entry hi, Visit&& visit) {
      tree_->visit(coding::first(lo), coding::last(hi), me_, visit);
    }

    // About how many entries there are: the mean of 64 ways down that turn at random, each as if
    // all nodes were as full as those on it. At rest it is right on average. Lock-free. Throws
    // std::bad_alloc.
    [[nodiscard]] std::uint64_t approximate_size() { return tree_->estimate(random_, me_); }

   private:
    friend elb_tree;
    // The handles of a tree draw by their numbers, and so the same in every run.
    explicit handle(elb_tree& tree)
        : tree_(&tree),
          random_(tree.attached_.fetch_add(1, memory_order_relaxed)),
          me_(reclaim::join_without_nesting(tree.domain_)) {}
    static std::optional<Entry> decoded(word found) {
      return found == 0 ? std::nullopt : std::optional(coding::decode(found));
    }

    elb_tree* tree_;
    detail::random_draws random_;
    typename Reclaim::participant me_;
  };

  // An empty tree. Throws std::bad_alloc.
  elb_tree() { above_.add(empty_root().release(), greatest); }
  elb_tree(const elb_tree&) = delete;
  elb_tree& operator=(const elb_tree&) = delete;
  // At rest, with no handle left. Deletes everything.
  ~elb_tree() { delete_below(static_cast<internal*>(above_.child(0))); }

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }

  // Calls visit(entry) for each entry, in ascending order. At rest. Throws std::bad_alloc and what
  // `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each_leaf(root(), [&](const leaf& node) { visit_in(node, 1, greatest, visit); });
  }

  // Whether there is no entry. At rest. Looks at one leaf after the other until one has an entry,
  // which is seldom many, as leaves with few entries are joined.
  [[nodiscard]] bool empty() const { return !has_entries(root()); }

  // How many entries there are. At rest. Reads all of them; approximate_size() of a handle reads
  // few and runs at any time. Throws std::bad_alloc.
  [[nodiscard]] std::size_t size() const {
    std::size_t counted = 0;
    for_each([&counted](const Entry&) { ++counted; });
    return counted;
  }

  // Removes and frees all. Handles stay valid. At rest. Time linear in the number of entries.
  // Throws std::bad_alloc, with nothing removed.
  void clear() {
    internal* const fresh = empty_root().release();
    auto* const old = static_cast<internal*>(above_.child(0));
    // Nobody else is here: what they read later happens after this call.
    above_.children[0].store(fresh, memory_order_relaxed);
    above_.status.store(0, memory_order_relaxed);
    delete_below(old);
  }

  // What is wrong with the tree, if anything is: the order of entries and separators (theorem
  // A.10), a node with two parents (A.5), an entry that is there twice, an unfinished balancing, a
  // node without children or with too many. A call that threw std::bad_alloc may have left a
  // balancing unfinished, until other calls pass there. At rest, for tests. Throws std::bad_alloc.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    if (above_.size != 1) return "the fake root does not have one child";
    if (above_.status.load(memory_order_acquire) != 0) return "the root's balancing is unfinished";
    if (root().height == 0) return "the real root is a leaf";
    std::unordered_set<const void*> met;
    return broken_below(root(), 0, greatest, met);
  }

  // Nodes, depths and bytes. At rest.
  [[nodiscard]] assay::shape shape() const {
    shape_sum sum;
    add_shape(root(), 1, sum);
    return sum.sum();
  }

  // How many retired nodes wait to be freed; an estimate while threads are inside calls.
  [[nodiscard]] std::uint64_t unfreed() const { return domain_.unfreed(); }

 private:
  // --- operations --------------------------------------------------------------------------------
  // Each way down has a guard of its own: it may retire nodes, and a guard has memory for a limited
  // number of them.

  // Calls operate.template operator()<Set>(), all that it calls compiled for the best vector
  // instructions.
  template <class Operate>
  auto by_vectors(const Operate& operate) const {
#if ASSAY_VECTOR_LOADS
    if (set_ == set::avx512) return by_avx512(operate);
    if (set_ == set::avx2) return by_avx2(operate);
#endif
    return operate.template operator()<set::scalar>();
  }
#if ASSAY_VECTOR_LOADS
  template <class Operate>
  [[gnu::flatten]] ASSAY_AVX2 static auto by_avx2(const Operate& operate) {
    return operate.template operator()<set::avx2>();
  }
  template <class Operate>
  [[gnu::flatten]] ASSAY_AVX512 static auto by_avx512(const Operate& operate) {
    return operate.template operator()<set::avx512>();
  }
#endif

  template <std::size_t All, std::size_t Most, std::size_t From = 0, class Each>
  [[gnu::always_inline]] static void for_chunks(const Each& each) {
    if constexpr (From < All) {
      constexpr std::size_t n = std::min(Most, All - From);
      each.template operator()<From, n>();
      for_chunks<All, Most, From + n>(each);
    }
  }

  // What was read of a leaf, place after place.
  struct view {
    std::size_t used = 0;
    std::size_t free = leaf_capacity;    // a place; that many if there is none
    std::size_t wanted = leaf_capacity;  // the place of the entry wanted; likewise
    word entry = 0;                      // that entry
    bool is_closed = false;
  };
  // Wanted is the least entry from `lo` to `hi`, or the first one from a place on, and round.
  static constexpr std::size_t the_least = leaf_capacity;
  template <set Set>
  static view look_at(const leaf& node, word lo, word hi, std::size_t start = the_least) {
    view seen;
    if constexpr (place::numbers != 0) {
      for_chunks<leaf_capacity, 64 / place::numbers>([&]<std::size_t From, std::size_t N>() {
        const auto found = of_places(vector_search::sort_words<Set, N * place::numbers>(
            place::numbers_of(&node.places[From]), place::upper(lo), place::upper(hi)));
        seen.used += N - static_cast<std::size_t>(std::popcount(found.zero));
        if (found.zero != 0 && seen.free == leaf_capacity) {
          seen.free = From + lowest_place(found.zero);
        }
        seen.is_closed = seen.is_closed || found.marked != 0;
        for (std::uint64_t left = found.between; left != 0; left &= left - 1) {
          want<Set>(node, From + lowest_place(left), lo, hi, start, seen);
        }
      });
    } else {
      for (std::size_t i = 0; i < leaf_capacity; ++i) {
        const word held = node.places[i].load();
        if (entry_in(held) != 0) {
          ++seen.used;
          want<Set>(node, i, lo, hi, start, seen);
        } else {
          seen.is_closed = seen.is_closed || held != 0;
          if (seen.free == leaf_capacity) seen.free = i;
        }
      }
    }
    return seen;
  }
  // Turns bits for numbers of 64 bits into bits for places. Where a place is two numbers, the bit
  // of its upper one counts. Upper parts that equal an end of the range may belong to words outside
  // of it, which want() sorts out. Free places, whose upper part equals the lowest entries' upper
  // part, are removed here.
  static vector_search::sorted_words of_places(vector_search::sorted_words found) {
    if constexpr (place::numbers == 2) {
      constexpr std::uint64_t uppers = 0xaaaa'aaaa'aaaa'aaaa;
      found.zero &= found.zero << 1U & uppers;
      found.marked &= uppers;
      found.between &= uppers & ~found.zero;
    }
    return found;
  }
  static std::size_t lowest_place(std::uint64_t found) {
    return static_cast<std::size_t>(std::countr_zero(found)) / place::numbers;
  }
  template <set Set>
  static void want(const leaf& node, std::size_t where, word lo, word hi, std::size_t start,
                   view& seen) {
    const word held = node.places[where].template load<Set>();
    // If the leaf is closed by now, the entry may already be in another leaf as well.
    seen.is_closed = seen.is_closed || (held & read_only) != 0;
    const auto from_start = [start](std::size_t place) {
      return (place + leaf_capacity - start) % leaf_capacity;
    };
    // Without branches, which would be guessed wrong.
    const bool is_first =
        start == the_least ? held < seen.entry : from_start(where) < from_start(seen.wanted);
    const bool is_better = lo <= held && held <= hi && (seen.wanted == leaf_capacity || is_first);
    seen.entry = is_better ? held : seen.entry;
    seen.wanted = is_better ? where : seen.wanted;
  }

  // What became of an entry that was to be put into a leaf.
  enum class outcome : std::uint8_t { added, present, closed, full };

  // Again and again while others fill the places that were free.
  template <set Set>
  static outcome put_in(leaf& node, word entry) {
    for (;;) {
      const view seen = look_at<Set>(node, entry, entry);
      if (seen.is_closed) return outcome::closed;
      if (seen.wanted != leaf_capacity) return outcome::present;
      if (seen.used > Settings::dense || seen.free == leaf_capacity) return outcome::full;
      ASSAY_POINT("elb_insert_before_exchange");
      word expected = 0;
      if (node.places[seen.free].exchange(expected, entry)) return outcome::added;
    }
  }

  template <set Set>
  void insert_new_as(word entry, typename Reclaim::participant& me) {
    for (;;) {
      auto guard = me.pin();
      whereabouts at;
      if (!descend<Set>(entry, 0, at, guard)) continue;
      leaf& node = *static_cast<leaf*>(at.child);
      const outcome put = put_in<Set>(node, entry);
      misuse::require(put != outcome::present, inserted_twice);
      if (put == outcome::added || put == outcome::present) return;
      balance(entry, &node, guard);
    }
  }

  template <set Set>
  bool insert_as(word entry, typename Reclaim::participant& me) {
    const std::uint64_t claim = claim_of(entry);
    std::optional<bool> added;
    while (!added) {
      auto guard = me.pin();
      whereabouts at;
      if (!descend<Set>(entry, 0, at, guard)) continue;
      leaf& node = *static_cast<leaf*>(at.child);
      if (take(node, claim)) {
        const outcome put = put_in<Set>(node, entry);
        node.claims.fetch_and(~claim, memory_order_release);  // (e)
        if (put == outcome::added || put == outcome::present) return put == outcome::added;
      } else {
        added = insert_by_closing(node, entry);
      }
      if (!added) balance(entry, &node, guard);
    }
    replace_closed(entry, me);
    return *added;
  }

  static std::uint64_t claim_of(word entry) {
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;  // mixes all bits into the highest
    std::uint64_t mixed = static_cast<std::uint64_t>(entry) * odd;
    if constexpr (sizeof(word) > 8) mixed += static_cast<std::uint64_t>(entry >> 64U) * odd;
    return std::uint64_t{1} << (mixed >> 58U);
  }
  static bool take(leaf& node, std::uint64_t claim) {
    for (unsigned tried = 0; tried < Settings::patience; ++tried) {
      if ((node.claims.fetch_or(claim, memory_order_acquire) & claim) == 0) {  // (e)
        ASSAY_POINT("elb_insert_claimed");
        return true;
      }
      sync::backoff::pause();
    }
    return false;
  }

  // Closes the leaf, with the entry as its wish. Answers whether that has added the entry; nothing
  // if the wish was another's or the leaf was closed before.
  [[gnu::noinline]] static std::optional<bool> insert_by_closing(leaf& node, word entry) {
    word met = 0;
    const bool is_mine = node.wish.exchange(met, entry);
    node.close();
    if (!is_mine) return std::nullopt;
    return std::ranges::none_of(
        node.places, [entry](const place& each) { return entry_in(each.load()) == entry; });
  }
  // Until the leaf for `entry` is not closed. Without memory others do it later.
  void replace_closed(word entry, typename Reclaim::participant& me) {
    try {
      for (;;) {
        auto guard = me.pin();
        whereabouts at;
        if (!descend<set::scalar>(entry, 0, at, guard)) continue;
        const leaf& node = *static_cast<leaf*>(at.child);
        if (!node.is_closed()) return;
        balance(entry, &node, guard);
      }
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  static constexpr const char* inserted_twice =
      "an entry (of a multimap or a queue: a key with its value) is inserted into an elb_tree that "
      "it is already in";

  template <set Set>
  word erase_as(word lo, word hi, typename Reclaim::participant& me,
                std::size_t start = the_least) {
    while (lo <= hi) {
      auto guard = me.pin();
      whereabouts at;
      if (!descend<Set>(lo, 0, at, guard)) continue;
      leaf& node = *static_cast<leaf*>(at.child);
      for (;;) {
        view seen = look_at<Set>(node, lo, hi, start);
        if (seen.is_closed ||
            (seen.used <= Settings::sparse && (at.parent->size > 1 || !is_real_root(at)))) {
          balance(lo, &node, guard);
          break;
        }
        if (seen.wanted == leaf_capacity) {
          if (at.upto >= hi) return 0;
          lo = at.upto + 1;
          break;
        }
        ASSAY_POINT("elb_erase_before_exchange");
        if (node.places[seen.wanted].exchange(seen.entry, 0)) return seen.entry;
      }
    }
    return 0;
  }

  template <set Set>
  word search_as(word lo, word hi, typename Reclaim::participant& me) {
    while (lo <= hi) {
      auto guard = me.pin();
      whereabouts at;
      if (!descend<Set>(lo, 0, at, guard)) continue;
      ASSAY_POINT("elb_search_before_look");
      const leaf& node = *static_cast<leaf*>(at.child);
      const view seen = look_at<Set>(node, lo, hi);
      if (seen.wanted != leaf_capacity) return seen.entry;
      if (seen.is_closed) {
        // What it holds, it held when it was in the tree.
        for (const place& each : node.places) {
          const word held = entry_in(each.load());
          if (lo <= held && held <= hi) return held;
        }
        if (const word held = node.granted(); lo <= held && held <= hi) return held;
      }
      if (at.upto >= hi) return 0;
      lo = at.upto + 1;
    }
    return 0;
  }

  template <class Visit>
  void visit(word lo, word hi, typename Reclaim::participant& me, Visit& visit) {
    while (lo <= hi) {
      auto guard = me.pin();
      whereabouts at;
      if (!descend<set::scalar>(lo, 0, at, guard)) continue;
      ASSAY_POINT("elb_visit_before_look");
      visit_in(*static_cast<const leaf*>(at.child), lo, hi, visit);
      if (at.upto >= hi) return;
      lo = at.upto + 1;
    }
  }
  // A leaf may be closed: what it holds, it held when it was in the tree.
  template <class Visit>
  static void visit_in(const leaf& node, word lo, word hi, Visit& visit) {
    std::array<word, leaf_capacity + 1> held;
    auto end = held.begin();
    const auto take = [&](word found) {
      if (lo <= found && found <= hi) *end++ = found;
    };
    for (const place& each : node.places) take(entry_in(each.load()));
    take(node.granted());
    std::sort(held.begin(), end);
    // One that was erased and inserted again meanwhile may have been met in two places, and a wish
    // may have been in one before.
    end = std::unique(held.begin(), end);
    for (auto each = held.begin(); each != end; ++each) visit(coding::decode(*each));
  }

  // Knuth, Estimating the efficiency of backtrack programs (1975).
  std::uint64_t estimate(detail::random_draws& random, typename Reclaim::participant& me) {
    constexpr int ways = 64;
    double sum = 0;
    for (int done = 0; done < ways;) {
      auto guard = me.pin();
      double as_full = 1;
      const auto turn = [&](const internal& node) {
        as_full *= node.size;
        return static_cast<std::size_t>(random() % node.size);
      };
      whereabouts at;
      if (!descend_by(turn, 0, at, guard)) continue;
      std::size_t used = 0;
      for (const place& each : static_cast<const leaf*>(at.child)->places) {
        used += entry_in(each.load()) != 0 ? 1U : 0U;
      }
      sum += as_full * static_cast<double>(used);
      ++done;
    }
    return static_cast<std::uint64_t>(std::llround(sum / ways));
  }

  // --- the way down ------------------------------------------------------------------------------

  // Goes down to the node of that height below which `entry` belongs. If it meets a balancing on
  // its way, it helps and answers false, and must be called again.
  template <set Set>
  [[nodiscard]] bool descend(word entry, std::uint32_t height, whereabouts& at, guard_type& guard) {
    return descend_by([entry](const internal& node) { return node.template child_of<Set>(entry); },
                      height, at, guard);
  }
  // The same by the children that turn(node) says.
  template <class Turn>
  [[nodiscard]] bool descend_by(const Turn& turn, std::uint32_t height, whereabouts& at,
                                guard_type& guard) {
    at = {};
    at.parent = &above_;
    at.child = guard.protect(0, above_.children[0]);
    for (;;) {
      // (c) After the child was found: so both were linked then.
      const status_word status = at.parent->status.load(memory_order_acquire);
      if (is_dead(status)) return false;
      if (is_balancing(status) && parent_in(status) == at.which &&
          names(status, *static_cast<internal*>(at.child))) {
        help({at.parent, status, after(at.slot, 3)}, guard);
        return false;
      }
      // The fake root has no height of its own.
      if (at.parent != &above_ && at.parent->height == height + 1) return true;
      auto* const next = static_cast<internal*>(at.child);
      if (next->height <= height) return at.parent == &above_ && next->height == height;
      at.parent_at = at.which;
      at.which = turn(*next);
      at.upto = next->separators[at.which];
      at.grandparent = at.parent;
      at.parent = next;
      at.slot = after(at.slot, 1);
      at.child = guard.protect(at.slot, next->children[at.which]);
    }
  }
  [[nodiscard]] bool is_real_root(const whereabouts& at) const { return at.grandparent == &above_; }

  // --- balancing ---------------------------------------------------------------------------------

  // A grandparent's status to be helped, and the slot that protects the grandparent. The other
  // three are used.
  struct task {
    internal* grandparent;
    status_word status;
    std::size_t slot;
  };

  [[nodiscard]] static bool is_root_in_need(const internal& root) {
    return root.size == internal_capacity || (root.size == 1 && root.height > 1);
  }
  [[nodiscard]] static bool is_in_need(const internal& node, const internal& parent) {
    return node.size == internal_capacity ||
           (node.size <= Settings::sparse_internal && parent.size > 1);
  }

  // Balances the leaf on the way to `entry`, if it is still the one that was seen to need it, or
  // the highest node above it that is in need of it first. The caller looks again.
  [[gnu::noinline]] void balance(word entry, const leaf* seen, guard_type& guard) {
    for (std::uint32_t height = 0;;) {
      whereabouts at;
      if (!descend<set::scalar>(entry, height, at, guard)) return;
      if (at.parent == &above_) {
        auto* const root = static_cast<internal*>(at.child);
        if (is_root_in_need(*root)) {
          start({&above_, balancing(*root, 0, parent_itself), after(at.slot, 3)}, guard);
        }
        return;
      }
      if (is_real_root(at) ? is_root_in_need(*at.parent)
                           : at.parent->size == internal_capacity ||
                                 at.parent->size <= Settings::sparse_internal) {
        height = at.parent->height;
        continue;
      }
      // Another thread may have balanced it meanwhile. Then there is nothing to be replaced.
      if (height == 0 ? at.child != seen
                      : !is_in_need(*static_cast<internal*>(at.child), *at.parent)) {
        return;
      }
      start({at.grandparent, balancing(*at.parent, at.parent_at, at.which), after(at.slot, 2)},
            guard);
      return;
    }
  }

  // Step 1. (b)
  void start(const task& begun, guard_type& guard) {
    ASSAY_POINT("elb_step_1");
    status_word met = 0;
    if (begun.grandparent->status.compare_exchange_strong(met, begun.status, memory_order_acq_rel,
                                                          memory_order_acquire)) {
      met = begun.status;
    }
    if (is_balancing(met)) help({begun.grandparent, met, begun.slot}, guard);
  }

  // Does what the status says, or first what obstructs it further down.
  [[gnu::noinline]] void help(task now, guard_type& guard) {
    while (const auto lower = go_on(now, guard)) now = *lower;
  }

  // Steps 2 to 5. Answers what must be helped first, if anything.
  std::optional<task> go_on(const task& now, guard_type& guard) {
    atomic<status_word>& status = now.grandparent->status;
    const auto end = [&]() -> std::optional<task> {
      status_word expected = now.status;
      // (b) After the edge was changed or, likewise, read by a relaxed exchange that failed: who
      // acquires this reads that child, or a later one.
      status.compare_exchange_strong(expected, 0, memory_order_acq_rel, memory_order_relaxed);
      return std::nullopt;
    };
    atomic<void*>& edge = now.grandparent->children[parent_in(now.status)];
    const std::size_t parent_slot = after(now.slot, 1);
    auto* const parent = static_cast<internal*>(guard.protect(parent_slot, edge));
    if (status.load(memory_order_acquire) != now.status) return std::nullopt;
    // The grandparent was not dead after that: so what it led to was linked then.
    if (!names(now.status, *parent)) {
      ASSAY_POINT("elb_parent_replaced");
      return end();
    }
    const std::size_t which = child_in(now.status);

    ASSAY_POINT("elb_step_2");
    if (const status_word met = close(*parent, step_3); is_balancing(met)) {
      return task{parent, met, parent_slot};
    }
    replacement made;
    if (which == parent_itself) {
      ASSAY_POINT("elb_replace_root");
      make_root(*parent, made);
    } else {
      // What is below a closed parent is retired only after the edge to that has changed.
      const auto reach = [&](std::size_t child, std::size_t slot) -> void* {
        void* const node = guard.protect(slot, parent->children[child]);
        return edge.load(memory_order_acquire) == parent ? node : nullptr;
      };
      ASSAY_POINT("elb_step_3");
      const std::size_t node_slot = after(now.slot, 2);
      void* const node = reach(which, node_slot);
      if (node == nullptr) return end();
      if (const status_word met = close_child(*parent, node, step_4); is_balancing(met)) {
        return task{static_cast<internal*>(node), met, node_slot};
      }
      std::size_t beside = which;
      if (is_to_be_joined(*parent, node)) {
        ASSAY_POINT("elb_step_4");
        beside = which + 1 < parent->size ? which + 1 : which - 1;
        const std::size_t sibling_slot = after(now.slot, 3);
        void* const sibling = reach(beside, sibling_slot);
        if (sibling == nullptr) return end();
        if (const status_word met = close_child(*parent, sibling, step_5); is_balancing(met)) {
          return task{static_cast<internal*>(sibling), met, sibling_slot};
        }
      }
      make(*parent, std::min(which, beside), std::max(which, beside), made);
    }
    ASSAY_POINT("elb_step_5");
    void* expected = parent;
    // (a)
    if (edge.compare_exchange_strong(expected, made.top, memory_order_acq_rel,
                                     memory_order_relaxed)) {
      made.keep();
      guard.retire(parent);
      for (void* const node : made.replaced) {
        if (node == nullptr) continue;
        if (parent->height == 1) {
          guard.retire(static_cast<leaf*>(node));
        } else {
          guard.retire(static_cast<internal*>(node));
        }
      }
    }
    ASSAY_POINT("elb_linked");
    return end();
  }

  // From now on the node's children do not change, if the answer is not a balancing below it. (b)
  static status_word close(internal& node, status_word step) {
    status_word met = 0;
    node.status.compare_exchange_strong(met, step, memory_order_acq_rel, memory_order_acquire);
    return met;
  }
  // The same of a leaf or an internal node. Of the latter only if it is to be replaced.
  static status_word close_child(const internal& parent, void* child, status_word step) {
    if (parent.height > 1) {
      auto& node = *static_cast<internal*>(child);
      if (step != step_5 && !is_in_need(node, parent)) return 0;
      ASSAY_POINT("elb_close_internal");
      return close(node, step);
    }
    static_cast<leaf*>(child)->close();
    return 0;
  }
  // The child is closed.
  static bool is_to_be_joined(const internal& parent, const void* child) {
    if (parent.size == 1) return false;
    if (parent.height > 1) {
      return static_cast<const internal*>(child)->size <= Settings::sparse_internal;
    }
    return entries_of<1>({static_cast<const leaf*>(child)}).size <= Settings::sparse;
  }

  // --- new nodes ---------------------------------------------------------------------------------

  struct replacement {
    std::unique_ptr<internal> parent;
    std::array<std::unique_ptr<leaf>, 2> leaves;
    std::array<std::unique_ptr<internal>, 2> internals;
    void* top = nullptr;
    std::array<void*, 2> replaced{};  // beside the parent

    void keep() {
      static_cast<void>(parent.release());
      for (auto& each : leaves) static_cast<void>(each.release());
      for (auto& each : internals) static_cast<void>(each.release());
    }
  };

  std::unique_ptr<internal> make_internal(std::uint32_t height) {
    // Relaxed: only that each number is another's matters.
    return std::make_unique<internal>(height, made_.fetch_add(1, memory_order_relaxed));
  }

  template <std::size_t N>
  struct entries {
    std::array<word, N*(leaf_capacity + 1)> all;
    std::size_t size = 0;
  };
  std::unique_ptr<internal> empty_root() {
    auto root = make_internal(1);
    root->add(std::make_unique<leaf>().release(), greatest);
    return root;
  }
  // The entries of closed leaves, without order.
  template <std::size_t N>
  static entries<N> entries_of(const std::array<const leaf*, N>& nodes) {
    entries<N> found;
    for (const leaf* const node : nodes) {
      if (node == nullptr) continue;
      const std::size_t before = found.size;
      for (const place& each : node->places) {
        const word entry = entry_in(each.load());
        if (entry != 0) found.all[found.size++] = entry;
      }
      const word wish = node->granted();
      const auto* const own = found.all.data() + before;
      const auto* const end = found.all.data() + found.size;
      if (wish != 0 && std::find(own, end, wish) == end) found.all[found.size++] = wish;
    }
    return found;
  }

  // A parent with its children `first` to `last`, which are one or two, balanced.
  void make(const internal& parent, std::size_t first, std::size_t last, replacement& made) {
    made.parent = make_internal(parent.height);
    made.top = made.parent.get();
    for (std::size_t i = 0; i < first; ++i) made.parent->add(parent.child(i), parent.separators[i]);
    if (parent.height == 1) {
      make_leaves(parent, first, last, made);
    } else {
      make_internals(parent, first, last, made);
    }
    for (std::size_t i = last + 1; i < parent.size; ++i) {
      made.parent->add(parent.child(i), parent.separators[i]);
    }
  }

  void make_leaves(const internal& parent, std::size_t first, std::size_t last, replacement& made) {
    const auto* const one = static_cast<const leaf*>(parent.child(first));
    const auto* const other =
        first == last ? nullptr : static_cast<const leaf*>(parent.child(last));
    auto found = entries_of<2>({one, other});
    const std::size_t most = first == last ? Settings::dense : few(leaf_capacity);
    const std::size_t left = found.size <= most ? found.size : (found.size + 1) / 2;
    const auto begin = found.all.begin();
    const auto middle = begin + static_cast<std::ptrdiff_t>(left);
    const auto end = begin + static_cast<std::ptrdiff_t>(found.size);
    // Threads that insert it at the same time both find it missing. A leaf that is not closed may
    // hold it, once, in one place and then in another.
    if constexpr (misuse::checks) {
      std::sort(begin, end);
      misuse::require(std::adjacent_find(begin, end) == end, inserted_twice);
    }
    if (left < found.size) std::nth_element(begin, middle - 1, end);
    const auto add = [&](std::size_t which, auto from, auto to, word upto) {
      made.leaves[which] = std::make_unique<leaf>();
      for (place* into = made.leaves[which]->places.data(); from != to; ++from, ++into) {
        into->set(*from);
      }
      made.parent->add(made.leaves[which].get(), upto);
    };
    add(0, begin, middle, left < found.size ? *(middle - 1) : parent.separators[last]);
    if (left < found.size) add(1, middle, end, parent.separators[last]);
    made.replaced = {parent.child(first), first == last ? nullptr : parent.child(last)};
  }

  void make_internals(const internal& parent, std::size_t first, std::size_t last,
                      replacement& made) {
    const auto& one = *static_cast<const internal*>(parent.child(first));
    if (first == last && !is_in_need(one, parent)) {
      made.parent->add(parent.child(first), parent.separators[first]);
      return;
    }
    std::size_t size = 0;
    for (std::size_t i = first; i <= last; ++i) {
      size += static_cast<const internal*>(parent.child(i))->size;
    }
    const bool is_one = first != last && size <= few(internal_capacity);
    const std::size_t left = is_one ? size : (size + 1) / 2;
    std::size_t done = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const auto& node = *static_cast<const internal*>(parent.child(i));
      for (std::size_t j = 0; j < node.size; ++j, ++done) {
        auto& into = made.internals[done < left ? 0 : 1];
        if (into == nullptr) into = make_internal(node.height);
        into->add(node.child(j), node.separators[j]);
      }
    }
    made.parent->add(made.internals[0].get(), made.internals[0]->separators[left - 1]);
    if (!is_one) made.parent->add(made.internals[1].get(), parent.separators[last]);
    made.replaced = {parent.child(first), first == last ? nullptr : parent.child(last)};
  }

  // A root split in two below a new one, or the only child of a root.
  void make_root(const internal& root, replacement& made) {
    if (root.size == 1) {
      made.top = root.child(0);
      return;
    }
    made.parent = make_internal(root.height + 1);
    made.top = made.parent.get();
    for (std::size_t half = 0; half < 2; ++half) {
      made.internals[half] = make_internal(root.height);
      const std::size_t middle = (root.size + 1) / 2;
      for (std::size_t i = half == 0 ? 0 : middle; i < (half == 0 ? middle : root.size); ++i) {
        made.internals[half]->add(root.child(i), root.separators[i]);
      }
      made.parent->add(made.internals[half].get(),
                       half == 0 ? root.separators[middle - 1] : greatest);
    }
  }

  // --- at rest -----------------------------------------------------------------------------------

  [[nodiscard]] const internal& root() const {
    return *static_cast<const internal*>(above_.child(0));
  }
  // Checks a node whose keys are above `from` and at most `upto`.
  [[nodiscard]] static std::optional<std::string> broken_below(
      const internal& node, word from, word upto, std::unordered_set<const void*>& met) {
    if (!met.insert(&node).second) return "an internal node has two parents";
    if (node.status.load(memory_order_acquire) != 0) return "a balancing is unfinished";
    if (node.size < 1) return "an internal node has no child";
    if (node.size > internal_capacity) return "an internal node is too large";
    for (std::size_t i = 0; i < node.size; ++i) {
      const word low = i == 0 ? from : node.separators[i - 1];
      const word high = node.separators[i];
      if (low >= high) return "separators do not ascend";
      if (i + 1 == node.size && high != upto) return "the last separator is not the parent's";
      const void* const child = node.child(i);
      if (node.height > 1) {
        const auto& below = *static_cast<const internal*>(child);
        if (below.height + 1 != node.height) return "the leaves are not all at the same depth";
        if (auto broken = broken_below(below, low, high, met)) return broken;
      } else {
        if (!met.insert(child).second) return "a leaf has two parents";
        if (auto broken = broken_leaf(*static_cast<const leaf*>(child), low, high)) return broken;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] static std::optional<std::string> broken_leaf(const leaf& node, word from,
                                                              word upto) {
    std::array<word, leaf_capacity> entries;
    auto end = entries.begin();
    for (const place& each : node.places) {
      const word held = each.load();
      if ((held & read_only) != 0) return "a place of a leaf is read-only";
      if (held == 0) continue;
      if (held <= from || held > upto) return "an entry is in a leaf where it does not belong";
      *end++ = held;
    }
    std::sort(entries.begin(), end);
    if (std::adjacent_find(entries.begin(), end) != end) return "an entry is in a leaf twice";
    if (node.wish.load() != 0 || node.claims.load(memory_order_acquire) != 0) {
      return "an insert into a leaf is unfinished";
    }
    return std::nullopt;
  }
  [[nodiscard]] static bool has_entries(const internal& node) {
    for (std::size_t i = 0; i < node.size; ++i) {
      if (node.height > 1) {
        if (has_entries(*static_cast<const internal*>(node.child(i)))) return true;
        continue;
      }
      const auto& below = *static_cast<const leaf*>(node.child(i));
      if (below.granted() != 0) return true;
      if (std::ranges::any_of(below.places,
                              [](const place& each) { return entry_in(each.load()) != 0; })) {
        return true;
      }
    }
    return false;
  }
  template <class Visit>
  static void for_each_leaf(const internal& node, const Visit& visit) {
    for (std::size_t i = 0; i < node.size; ++i) {
      if (node.height > 1) {
        for_each_leaf(*static_cast<const internal*>(node.child(i)), visit);
      } else {
        visit(*static_cast<const leaf*>(node.child(i)));
      }
    }
  }
  static void add_shape(const internal& node, std::uint64_t depth, shape_sum& sum) {
    sum.add_node(sizeof(internal));
    for (std::size_t i = 0; i < node.size; ++i) {
      if (node.height > 1) {
        add_shape(*static_cast<const internal*>(node.child(i)), depth + 1, sum);
        continue;
      }
      const auto& places = static_cast<const leaf*>(node.child(i))->places;
      sum.add_node(sizeof(leaf));
      const auto entries =
          std::ranges::count_if(places, [](const place& each) { return each.load() != 0; });
      sum.add_elements(static_cast<std::uint64_t>(entries), depth + 1);
    }
  }
  static void delete_below(internal* node) {
    for (std::size_t i = 0; i < node->size; ++i) {
      if (node->height > 1) {
        delete_below(static_cast<internal*>(node->child(i)));
      } else {
        delete static_cast<leaf*>(node->child(i));
      }
    }
    delete node;
  }

  // The fake root, whose only child is the real one.
  internal above_{0, 0};
  Reclaim domain_;
  const set set_ = host::best_instruction_set();
  // Apart from what every operation reads.
  alignas(line) atomic<std::uint64_t> made_{1};  // internal nodes
  atomic<std::uint64_t> attached_{0};            // handles
};

}  // namespace assay

#endif  // ASSAY_MAPS_ELB_TREE_H_
