// A map of any type as the trial sees it, and the one loop that operates on it.
//
// Everything that a trial does (threads, clocks, prefill, validation) is ordinary code behind two
// small interfaces; only `perform`, the loop over one batch, is compiled for each map, and calls
// the map's operations directly. One virtual call a batch costs nothing that can be measured.

#ifndef ASSAY_TRIAL_MEASURED_MAP_H_
#define ASSAY_TRIAL_MEASURED_MAP_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "assay/maps/concept.h"
#include "assay/trial/tally.h"
#include "assay/workload/operation_batch.h"
#include "assay/workload/options.h"

namespace assay::trial {

// What is known of a trial before its map is built, for maps that must be given a size.
struct map_hints {
  std::uint64_t key_range;
  unsigned threads;
};

// What all operations of a thread have in common.
struct task {
  std::uint64_t salt = 0;                       // of the values stored, see value_of
  workload::fold fold = workload::fold::count;  // what is done with elements visited
  std::stop_token stop{};
};

// How far a batch came.
struct progress {
  std::size_t performed;  // operations that returned
  bool gave_up;           // the next one gave up because a stop was requested
};

// A thread's way into the map under measurement. Used and destroyed by the thread that attached it.
class attached_handle {
 public:
  attached_handle() = default;
  attached_handle(const attached_handle&) = delete;
  attached_handle& operator=(const attached_handle&) = delete;
  virtual ~attached_handle() = default;

  // Performs the operations `first` to `last` - 1 of `batch` in order, storing
  // `value_of(key, salt)` under a key, and adds what came of them to `sums`. Ends early only if the
  // map's operations take a stop token and a stop is requested.
  virtual progress perform(const workload::operation_batch& batch, std::size_t first,
                           std::size_t last, const task& task, tally& sums) = 0;
};

class measured_map {
 public:
  using visitor = std::function<void(std::uint64_t key, std::uint64_t value)>;

  measured_map() = default;
  measured_map(const measured_map&) = delete;
  measured_map& operator=(const measured_map&) = delete;
  virtual ~measured_map() = default;

  [[nodiscard]] virtual std::unique_ptr<attached_handle> attach() = 0;

  // Visits every element; no handle may be inside a call.
  virtual void for_each(const visitor& visit) = 0;
};

// The one trial loop, over one batch. Local sums keep the counts in registers: the compiler cannot
// know that the map does not touch `sums`.
template <class Handle>
progress perform(Handle& handle, const workload::operation_batch& batch, std::size_t first,
                 std::size_t last, const task& task, tally& sums) {
  using workload::operation;
  constexpr bool stoppable = stoppable_map_handle<Handle, std::uint64_t, std::uint64_t>;

  std::uint64_t inserts = 0, inserted = 0, erases = 0, erased = 0, found = 0, wrong = 0;
  std::uint64_t key_sum = 0, pair_sum = 0;
  progress done{.performed = 0, .gave_up = false};

  // Calls an operation, with the stop token if it takes one, and takes note of its answer if it
  // gave one.
  const auto call = [&](auto operate, auto take_note) {
    if constexpr (stoppable) {
      const auto answer = operate(task.stop);
      done.gave_up = !answer;
      if (answer) take_note(*answer);
    } else {
      take_note(operate());
    }
  };

  for (std::size_t i = first; i < last; ++i, ++done.performed) {
    if constexpr (stoppable) {
      if (task.stop.stop_requested()) break;
    }
    const std::uint64_t key = batch.keys[i];
    const std::uint64_t value = value_of(key, task.salt);
    // Searches are looked for first: they are most of the operations where the loop's own cost
    // matters most.
    if (const operation kind = batch.kinds[i]; kind == operation::find) {
      call([&](auto&... token) { return handle.find(key, token...); },
           [&](std::optional<std::uint64_t> answer) {
             if (!answer) return;
             ++found;
             wrong += *answer != value;
           });
    } else if (kind == operation::insert) {
      call([&](auto&... token) { return handle.insert(key, value, token...); },
           [&](bool succeeded) {
             ++inserts;
             if (!succeeded) return;
             ++inserted;
             key_sum += key;
             pair_sum += pair_term(key, value);
           });
    } else {
      call([&](auto&... token) { return handle.erase(key, token...); },
           [&](bool succeeded) {
             ++erases;
             if (!succeeded) return;
             ++erased;
             key_sum -= key;
             pair_sum -= pair_term(key, value);
           });
    }
    if (done.gave_up) break;
  }
  if (done.gave_up && !task.stop.stop_requested()) {
    throw std::logic_error("the map gave up an operation although no stop was requested");
  }

  sums.attempted[0] += inserts;
  sums.attempted[1] += erases;
  sums.attempted[2] += done.performed - inserts - erases;
  sums.succeeded[0] += inserted;
  sums.succeeded[1] += erased;
  sums.succeeded[2] += found;
  sums.key_sum += key_sum;
  sums.pair_sum += pair_sum;
  sums.wrong_values += wrong;
  return done;
}

// `Map` behind the interface above.
template <concurrent_map<std::uint64_t, std::uint64_t> Map>
class measured final : public measured_map {
 public:
  explicit measured([[maybe_unused]] const map_hints& hints)
    requires std::constructible_from<Map, map_hints>
      : map_(hints) {}
  explicit measured(const map_hints&)
    requires(!std::constructible_from<Map, map_hints>)
  {}

  std::unique_ptr<attached_handle> attach() override { return std::make_unique<handle>(map_); }
  void for_each(const visitor& visit) override { map_.for_each(visit); }

 private:
  class alignas(workload::interference_bytes) handle final : public attached_handle {
   public:
    explicit handle(Map& map) : handle_(map.attach()) {}
    progress perform(const workload::operation_batch& batch, std::size_t first, std::size_t last,
                     const task& task, tally& sums) override {
      return trial::perform(handle_, batch, first, last, task, sums);
    }

   private:
    decltype(std::declval<Map&>().attach()) handle_;
  };

  Map map_;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_MEASURED_MAP_H_
