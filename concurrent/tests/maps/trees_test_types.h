// What the tests of the search trees share: keys and values that count themselves and fail on
// demand, as does their order, and a reclamation policy that notices when a node is retired twice.

#ifndef TESTS_MAPS_TREES_TEST_TYPES_H_
#define TESTS_MAPS_TREES_TEST_TYPES_H_

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "assay/reclaim/concept.h"
#include "assay/subject/type_spec.h"
#include "tests/reclaim/reclaim_test_allocations.h"

namespace assay::trees_test {

using tests::allocations;
using tests::countdown;

// Each thread has its own.
inline thread_local countdown copies;
inline thread_local countdown comparisons;

struct copy_failed : std::runtime_error {
  copy_failed() : std::runtime_error("a copy failed") {}
};
struct comparison_failed : std::runtime_error {
  comparison_failed() : std::runtime_error("a comparison failed") {}
};

// Asks the same again, failing at the first step, the second and so on, until it succeeds. Calls
// unchanged() after each failure. `failures` says how many there were.
template <class Failure, class Call, class Unchanged>
auto until_it_succeeds(tests::countdown& steps, std::uint64_t& failures, const Call& call,
                       const Unchanged& unchanged) {
  for (failures = 0;; ++failures) {
    steps.fail_after(failures);
    try {
      const auto answer = call();
      steps.never_fail();
      return answer;
    } catch (const Failure&) {
      steps.never_fail();
      unchanged();
    }
  }
}

// A number whose copies can fail, and which knows how many of its kind there are.
class moody {
 public:
  explicit moody(std::uint64_t number) : number_(number) { ++alive; }
  moody(const moody& other) : number_(other.number_) {
    if (copies.fails_now()) throw copy_failed();
    ++alive;
  }
  moody& operator=(const moody&) = delete;
  ~moody() { --alive; }

  [[nodiscard]] std::uint64_t number() const { return number_; }
  friend bool operator<(const moody& a, const moody& b) { return a.number_ < b.number_; }
  friend bool operator==(const moody& a, const moody& b) { return a.number_ == b.number_; }

  static inline std::atomic<std::int64_t> alive{0};

 private:
  std::uint64_t number_;
};

}  // namespace assay::trees_test

template <>
class assay::subject::codec<assay::trees_test::moody> {
 public:
  explicit codec(const subject::type_spec& /*all are alike*/) {}
  static trees_test::moody encode(std::uint64_t number) { return trees_test::moody(number); }
  static std::uint64_t decode(const trees_test::moody& made) { return made.number(); }
};

namespace assay::trees_test {

struct moody_less {
  bool operator()(const moody& a, const moody& b) const {
    if (comparisons.fails_now()) throw comparison_failed();
    return a < b;
  }
};

// Between numbers and any type that has a codec. Strings are so long that they are allocated.
inline const subject::type_spec strings{
    .type = subject::type_spec::kind::bytes, .least = 20, .most = 40};
template <class T>
T made_of(std::uint64_t number) {
  return subject::codec<T>(strings).encode(number);
}
template <class T>
std::uint64_t number_of(const T& made) {
  return subject::codec<T>(strings).decode(made);
}

// Frees at the end, not when all is cleared, and ends the program if a node is retired a second
// time.
class retires_once {
 public:
  static constexpr reclaim::protection protects = reclaim::protection::everything;
  static constexpr bool nests = true;

  class guard {
   public:
    explicit guard(retires_once& domain) : domain_(&domain) {}
    template <class Source>
    auto protect(std::size_t, const Source& source) {
      return source.load(memory_order_acquire);
    }
    template <class Source, class PointerOf>
    auto protect(std::size_t, const Source& source, PointerOf) {
      return source.load(memory_order_acquire);
    }
    template <class Node, reclaim::deleter_of<Node> Deleter = std::default_delete<Node>>
    void retire(Node* node, Deleter deleter = {}) noexcept {
      ++retired_;
      if (retired_ > reclaim::retires_per_guard) std::abort();
      domain_->add(node, std::move(deleter));
    }
    template <std::invocable Function>
    void retire(Function function) noexcept {
      // Without memory the test ends. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
      retire(new char, [kept = std::move(function)](char* name) mutable {
        delete name;
        kept();
      });
    }

   private:
    retires_once* domain_;
    std::size_t retired_ = 0;
  };

  class participant {
   public:
    explicit participant(retires_once& domain) : domain_(&domain) {}
    participant(participant&&) noexcept = default;
    guard pin() { return guard(*domain_); }
    guard pin_to_read() noexcept { return guard(*domain_); }

   private:
    retires_once* domain_;
  };

  retires_once() = default;
  retires_once(const retires_once&) = delete;
  retires_once& operator=(const retires_once&) = delete;
  participant join() { return participant(*this); }
  std::uint64_t unfreed() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.size();
  }

 private:
  template <class Node, class Deleter>
  void add(Node* node, Deleter deleter) {
    const countdown planned = std::exchange(allocations, {});  // its own memory does not fail
    const std::scoped_lock lock(mutex_);
    if (!known_.insert(node).second) std::abort();
    waiting_.emplace_back(node, std::move(deleter));
    allocations = planned;
  }

  mutable std::mutex mutex_;
  std::unordered_set<const void*> known_;
  std::vector<std::shared_ptr<void>> waiting_;
};

static_assert(reclaim::policy<retires_once>);

}  // namespace assay::trees_test

#endif  // TESTS_MAPS_TREES_TEST_TYPES_H_
