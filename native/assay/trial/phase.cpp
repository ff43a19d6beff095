#include "assay/trial/phase.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "assay/random/permutation.h"
#include "assay/trial/prefill.h"
#include "assay/workload/generator.h"

namespace assay::trial {
namespace {

using workload::operation;

operation operation_of(const phase& phase) {
  return phase.what == phase::kind::drain ? operation::erase : operation::insert;
}

// One operation on each of some keys. After the last comes the first, for whoever times how long
// generating takes.
class each_of final : public workload::generator {
 public:
  each_of(std::span<const std::uint64_t> keys, operation kind) : keys_(keys), kind_(kind) {}

  void fill(workload::operation_batch& batch, std::size_t size) override {
    batch.size = size;
    for (std::size_t i = 0; i < size; ++i) {
      if (next_ == keys_.size()) next_ = 0;
      batch.keys[i] = keys_[next_++];
      batch.kinds[i] = kind_;
    }
  }

 private:
  std::span<const std::uint64_t> keys_;
  operation kind_;
  std::size_t next_ = 0;
};

}  // namespace

phase_keys::phase_keys(const request& request) {
  const bool all = request.phase->what != phase::kind::load;
  keys_.resize(all ? request.key_range : request.phase->size.value_or(request.key_range));
}

void phase_keys::share_out(subject::any_map& map, subject::structure structure,
                           const request& request, const workload::key_space& space,
                           std::span<worker> workers) {
  const phase& phase = *request.phase;
  const bool drains = phase.what == phase::kind::drain;
  const bool is_map = structure == subject::structure::map;
  std::vector<std::uint64_t> held;
  if (phase.what != phase::kind::load) {
    // A map that holds more than there are keys is broken, as the validation will say.
    map.for_each([&](std::uint64_t key, std::uint64_t /*value*/) {
      if (held.size() < 2 * space.range()) held.push_back(key);
    });
    std::ranges::sort(held);
  }
  keys_.clear();
  if (drains && !is_map) {
    keys_ = held;
  } else {
    const random::permutation order = random_order(request);
    const std::uint64_t most = phase.size.value_or(space.range());
    for (std::uint64_t i = 0; i < space.range() && keys_.size() < most; ++i) {
      const std::uint64_t key = space.key(order(i));
      const bool is_held = is_map && std::ranges::binary_search(held, key);
      if (is_held == drains) keys_.push_back(key);
    }
  }
  if (keys_.empty()) {
    throw bad_request(drains
                          ? "phase: the map is empty, so that nothing can be drained; prefill it"
                          : "phase: the map holds all keys, so that it cannot grow; prefill less");
  }
  if (phase.size && *phase.size != keys_.size()) {
    throw bad_request("phase.size: " + std::to_string(*phase.size) + " keys are to be " +
                      (drains ? "erased, and the map holds " : "inserted, and there is room for ") +
                      std::to_string(keys_.size()) +
                      (drains ? "; prefill more, or drain fewer" : "; prefill less, or add fewer"));
  }
  if (phase.sorted) std::ranges::sort(keys_);
  for (unsigned i = 0; i < workers.size(); ++i) {
    const auto [begin, end] = part_of(keys_.size(), i, workers.size());
    const std::span<const std::uint64_t> all = keys_;
    // A thread without any key still needs one to generate.
    const auto own = begin == end ? all : all.subspan(begin, end - begin);
    workers[i].operations = std::make_unique<each_of>(own, operation_of(phase));
    workers[i].exactly = {.warm_up = 0, .measured = end - begin};
  }
}

std::uint64_t end_together(std::span<worker> workers) {
  const std::uint64_t last =
      std::ranges::max_element(workers, {}, &worker::measured_ns)->measured_ns;
  for (worker& each : workers) each.measured_ns = last;
  return last;
}

std::string idle_operations(const phase& phase, std::span<const worker> workers) {
  const auto kind = static_cast<std::size_t>(operation_of(phase));
  std::uint64_t attempted = 0;
  std::uint64_t succeeded = 0;
  for (const worker& each : workers) {
    attempted += each.measured.attempted[kind];
    succeeded += each.measured.succeeded[kind];
  }
  if (attempted == succeeded) return "";
  const bool drains = phase.what == phase::kind::drain;
  return std::to_string(attempted - succeeded) + " of " + std::to_string(attempted) +
         (drains ? " erases of keys that the map held answered that they were not there"
                 : " inserts of keys that the map did not hold answered that they were there");
}

}  // namespace assay::trial
