// Any concurrent map, multimap or queue behind one interface of numbers, so that all that is done
// with them is ordinary code: trials, checkers, tests.
//
//     const subject::map_hints hints{.key_range = 100, .threads = 2};
//     subject::erased_map<my_map> map(hints);  // an any_map
//     auto handle = map.attach();              // in each thread
//     const subject::answer answer = handle->ask({.kind = workload::operation::find, .key = 7});
//     std::get<std::optional<std::uint64_t>>(answer);
//
// A map of other keys or values is called with numbers, too, which represent them (type_spec.h):
//
//     using keyed_by_strings = my_map<std::string, std::uint32_t>;
//     subject::erased_map<keyed_by_strings, std::string, std::uint32_t> map(hints);
//
// There are two ways in. `perform` is the trial's loop over a batch, compiled for each map, which
// calls the map's operations directly (erased_map.h): one virtual call a batch costs nothing that
// can be measured. `ask` is a single question whose answer is looked at; it costs a virtual call
// and, where elements are visited, a vector.
//
// What a call promises, and which threads may make it, is what the map's own call promises; see
// maps/concept.h.

#ifndef ASSAY_SUBJECT_ANY_MAP_H_
#define ASSAY_SUBJECT_ANY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "assay/maps/shape.h"
#include "assay/subject/tally.h"
#include "assay/subject/type_spec.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/options.h"

namespace assay::subject {

class witness;

// What is known of a trial before its map is built, for maps that must be given a size.
struct map_hints {
  std::uint64_t key_range;
  unsigned threads;
  type_spec key{};
  type_spec value{};
};

// What a subject is. Of a multimap or a queue, erased_bag.h says what the operations do.
enum class structure { map, multimap, queue };

// A key and its value.
using element = std::pair<std::uint64_t, std::uint64_t>;

struct question {
  workload::operation kind = workload::operation::find;
  std::uint64_t key = 0;    // of a range: the first
  std::uint64_t value = 0;  // of an insert
  std::uint64_t last = 0;   // of a range
};

// Answers of insert and erase; find; size; visits of several elements, in the order of the visit;
// searches for an element. Other operations answer as one of these.
using answer = std::variant<bool, std::optional<std::uint64_t>, std::uint64_t, std::vector<element>,
                            std::optional<element>>;

// Called with each element, as numbers; 0 for a key or a value that is not one of a number.
using visitor = std::function<void(std::uint64_t key, std::uint64_t value)>;

// What all operations of a thread have in common.
struct task {
  std::uint64_t salt = 0;                       // of the values stored, see value_of
  workload::fold fold = workload::fold::count;  // what is done with elements visited
  std::stop_token stop{};
  witness* seen = nullptr;  // of this thread, whose salt it is; none: values depend on keys alone
};

// How far a batch came.
struct progress {
  std::size_t performed;  // operations that returned
  bool gave_up;           // the next one was given up because a stop was requested
};

// A thread's way into the map. Used and destroyed by the thread that attached it, before the map.
class any_handle {
 public:
  any_handle() = default;
  any_handle(const any_handle&) = delete;
  any_handle& operator=(const any_handle&) = delete;
  virtual ~any_handle() = default;

  // Performs the operations `first` to `last` - 1 of `batch` in order, storing values as the
  // witness or the salt has it, and adds what came of them to `sums`, and to what was seen. Ends
  // early only once a stop is requested: before an operation other than insert, erase and find, or
  // in one that would begin again. The map must offer all of them.
  virtual progress perform(const workload::operation_batch& batch, std::size_t first,
                           std::size_t last, const task& task, tally& sums) = 0;

  // Throws std::logic_error if the map does not offer the operation, and what the map throws.
  virtual answer ask(const question& /*asked*/) { throw not_offered(); }

  // A range, a snapshot, an iteration, or another visit, which `each` may throw to end. What was
  // visited before a call of `begin_again` must be forgotten. Throws as ask() does.
  virtual void visit(const question& /*asked*/, const visitor& /*each*/,
                     const std::function<void()>& /*begin_again*/) {
    throw not_offered();
  }

 protected:
  static std::logic_error not_offered() {
    return std::logic_error("the map does not offer this operation");
  }
};

class any_map {
 public:
  any_map() = default;
  any_map(const any_map&) = delete;
  any_map& operator=(const any_map&) = delete;
  virtual ~any_map() = default;

  [[nodiscard]] virtual std::unique_ptr<any_handle> attach() = 0;

  // Visits every element. `visit` may throw to end it. No handle may be inside a call.
  virtual void for_each(const visitor& visit) = 0;

  // What is wrong with the map at rest, as far as it can tell; see maps/invariant.h.
  [[nodiscard]] virtual std::optional<std::string> broken_invariant() = 0;

  // How the map at rest is built, as far as it says; see maps/shape.h.
  [[nodiscard]] virtual assay::shape shape() { return {}; }
};

// What for_each visits, at most `most` elements.
[[nodiscard]] inline std::vector<element> walk(any_map& map, std::size_t most) {
  struct enough {};
  std::vector<element> met;
  try {
    map.for_each([&](std::uint64_t key, std::uint64_t value) {
      if (met.size() == most) throw enough();
      met.emplace_back(key, value);
    });
  } catch (const enough&) {
    return met;
  }
  return met;
}

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_ANY_MAP_H_
