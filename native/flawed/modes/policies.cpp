#include "flawed/modes/policies.h"

#include <algorithm>

#include "assay/host/clock.h"

namespace assay::flawed {
namespace {

using subject::progress;
using subject::tally;
using subject::task;
using workload::operation;

bool is_update(operation kind) { return kind == operation::insert || kind == operation::erase; }

std::uint64_t succeeded(const tally& sums, operation kind) {
  return sums.succeeded[static_cast<std::size_t>(kind)];
}

}  // namespace

void never_inserting::fill(workload::operation_batch& batch, std::size_t size) {
  honest_->fill(batch, size);
  const auto end = batch.kinds.begin() + static_cast<std::ptrdiff_t>(batch.size);
  std::replace(batch.kinds.begin(), end, operation::insert, operation::erase);
}

progress clock_reading::perform(const workload::operation_batch& batch, std::size_t first,
                                std::size_t last, const task& task, tally& sums) {
  for (std::size_t i = first; i < last; ++i) {
    const progress done = own().perform(batch, i, i + 1, task, sums);
    now_ = host::now_ns();
    if (&sums == &self_.measured) ++self_.clock_reads;
    if (done.performed == 0) return {i - first, done.gave_up};
  }
  return {last - first, false};
}

progress updates_by_turns::perform(const workload::operation_batch& batch, std::size_t first,
                                   std::size_t last, const task& task, tally& sums) {
  for (std::size_t i = first; i < last;) {
    // Searches up to the next update need no decision, unless the number of updates is one.
    std::size_t next = i + 1;
    if (!rules_.failures_are_searches && !is_update(batch.kinds[i])) {
      while (next < last && !is_update(batch.kinds[next])) ++next;
    }
    decide(i);
    const operation kind = batch.kinds[i];
    const std::uint64_t before = succeeded(sums, kind);
    const progress done = own().perform(batch, i, next, task, sums);
    if (done.performed < next - i) return {i + done.performed - first, done.gave_up};
    take_note(kind, batch.keys[i], succeeded(sums, kind) > before);
    i = next;
  }
  return {last - first, false};
}

void updates_by_turns::decide(std::size_t i) {
  operation& kind = self_.batch.kinds[i];
  if (rules_.failures_are_searches && (is_update(kind) || kind == operation::find)) {
    const bool update = 100 * effective_ < updates_percent_ * operations_;
    if (!update) {
      kind = operation::find;
    } else if (!is_update(kind)) {
      kind = engine_() >> 63 != 0 ? operation::insert : operation::erase;
    }
  }
  if (!is_update(kind) || !rules_.by_success) return;
  kind = last_ ? operation::erase : operation::insert;
  if (rules_.same_key && last_) self_.batch.keys[i] = *last_;
}

void updates_by_turns::take_note(operation kind, std::uint64_t key, bool succeeded) {
  operations_ += 1;
  if (!is_update(kind) || !succeeded) return;
  effective_ += 1;
  last_ = kind == operation::insert ? std::optional(key) : std::nullopt;
}

void updates_by_turns::recount(tally& measured) {
  const auto searches = static_cast<std::size_t>(operation::find);
  for (const auto kind : {operation::insert, operation::erase}) {
    const auto number = static_cast<std::size_t>(kind);
    measured.attempted[searches] += measured.attempted[number] - measured.succeeded[number];
    measured.attempted[number] = measured.succeeded[number];
  }
}

progress losing_inserts::perform(const workload::operation_batch& batch, std::size_t first,
                                 std::size_t last, const task& task, tally& sums) {
  for (std::size_t i = first; i < last; ++i) {
    const std::uint64_t before = succeeded(sums, operation::insert);
    const progress done = own().perform(batch, i, i + 1, task, sums);
    if (done.performed == 0) return {i - first, done.gave_up};
    if (succeeded(sums, operation::insert) == before || ++inserted_ % one_in != 0) continue;
    undo_.keys[0] = batch.keys[i];
    undo_.kinds[0] = operation::erase;
    undo_.size = 1;
    tally uncounted;
    own().perform(undo_, 0, 1, task, uncounted);
  }
  return {last - first, false};
}

progress timing_from_start::perform(const workload::operation_batch& batch, std::size_t first,
                                    std::size_t last, const task& task, tally& sums) {
  if (!begun_ && &sums != &measured_) recorder_.forget();
  if (!begun_ && &sums == &measured_) {
    recorder_.begin();
    begun_ = true;
  }
  for (std::size_t i = first; i < last; ++i) {
    const std::uint64_t start = host::now_ns();
    const progress done = own().perform(batch, i, i + 1, task, sums);
    if (done.performed == 0) return {i - first, done.gave_up};
    if (recorder_.untimed() == 0) {
      recorder_.timed(batch.kinds[i], host::now_ns() - start);
    } else {
      recorder_.pass(1);
    }
  }
  return {last - first, false};
}

}  // namespace assay::flawed
