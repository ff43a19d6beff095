#include "assay/trial/prefill.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "assay/subject/operations.h"
#include "assay/workload/latest.h"
#include "assay/workload/streams.h"

namespace assay::trial {
namespace {

using workload::operation_batch;

// How often another `key_range` updates may be added before the prefill has failed. A correct map
// is outside the tolerance with probability 0.003 each time (0.1 for some tiny ranges), and soon
// comes back.
constexpr int most_rounds = 32;

std::int64_t size_of(std::span<const worker> workers) {
  std::int64_t size = 0;
  for (const auto& worker : workers) size += worker.prefilled.implied_contents().size;
  return size;
}

subject::task task_of(worker& self, std::uint64_t salt) {
  return {.salt = salt, .seen = self.seen ? &*self.seen : nullptr};
}

// Has the threads of `workers` work.
void run_each(measure::crew& threads, std::span<worker> workers, auto work) {
  threads.run([&](unsigned i) {
    if (i < workers.size()) work(i);
  });
}

// Inserts the keys `key_of(0)` to `key_of(count - 1)`.
prefill_report insert_each(measure::crew& threads, std::span<worker> workers, std::uint64_t count,
                           auto key_of, std::uint64_t salt, prefill_method method) {
  run_each(threads, workers, [&](unsigned i) {
    worker& self = workers[i];
    operation_batch& batch = self.batch;
    const auto [begin, end] = part_of(count, i, workers.size());
    for (std::uint64_t next = begin; next < end;) {
      batch.size =
          static_cast<std::size_t>(std::min<std::uint64_t>(end - next, operation_batch::capacity));
      for (std::size_t j = 0; j < batch.size; ++j) {
        batch.keys[j] = key_of(next++);
        batch.kinds[j] = workload::operation::insert;
      }
      self.handle->perform(batch, 0, batch.size, task_of(self, salt), self.prefilled);
    }
  });
  const std::int64_t size = size_of(workers);
  return {method, size == static_cast<std::int64_t>(count), count, size, static_cast<double>(count),
          0};
}

// What an operation adds to the number of elements where it can: 1, -1 or 0.
int change_by(workload::operation kind) {
  using workload::operation;
  if (kind == operation::insert) return 1;
  if (kind == operation::erase) return -1;
  if (kind <= operation::iterate) return 0;
  const subject::question asked{.kind = kind, .key = 1, .value = 1};
  const auto held_after = [&](subject::elements held) {
    subject::extra_facts_of(kind).right(held, asked);
    return held.size();
  };
  if (held_after({}) > 0) return 1;
  return held_after({{1, 1}}) == 0 ? -1 : 0;
}

// Percent of a mix.
struct shares_of_updates {
  double adding = 0;
  double removing = 0;

  explicit shares_of_updates(const workload::mix& mix) {
    const auto shares = mix.shares();
    for (std::size_t kind = 0; kind < shares.size(); ++kind) {
      if (shares[kind] == 0) continue;
      const int change = change_by(static_cast<workload::operation>(kind));
      if (change > 0) adding += shares[kind];
      if (change < 0) removing += shares[kind];
    }
  }
};

}  // namespace

part part_of(std::uint64_t total, unsigned i, std::size_t n) {
  const std::uint64_t each = total / n;
  const std::uint64_t longer = total % n;
  const auto begin_of = [&](std::uint64_t k) {
    return each * k + std::min<std::uint64_t>(k, longer);
  };
  return {begin_of(i), begin_of(i + 1ULL)};
}

double filled_share_of(const request& request) {
  if (request.prefill.size) {
    return static_cast<double>(*request.prefill.size) / static_cast<double>(request.key_range);
  }
  return request.phase ? 0.5 : steady_share_of(request.roles);
}

double steady_share_of(std::span<const role> roles) {
  const bool have_rates = std::ranges::all_of(roles, [](const role& role) {
    const shares_of_updates shares(role.work.mix);
    return role.arrivals || shares.adding + shares.removing == 0;
  });
  workload::mix all{0, 0, 0};
  for (const auto& role : roles) {
    const double weight = have_rates && role.arrivals ? role.arrivals->rate : role.threads;
    const shares_of_updates shares(role.work.mix);
    all.insert += weight * shares.adding;
    all.erase += weight * shares.removing;
  }
  return all.steady_share();
}

steady_state steady_state_of(std::uint64_t key_range, double share) {
  const auto range = static_cast<double>(key_range);
  const double expected = range * share;
  const double deviation = std::sqrt(expected * (1 - share));
  // After m updates a key is still untouched with probability (1 - 1/range)^m, nearly
  // exp(-m/range), and as touched keys are present with probability `share`, the size is expected *
  // exp(-m/range) short of its steady state. That is half a standard deviation after range *
  // ln(expected / (deviation / 2)) updates.
  const double updates = range * std::max(std::log(expected / deviation / 0.5), 1.0);
  return {expected, 3 * deviation, static_cast<std::uint64_t>(std::ceil(updates))};
}

random::permutation random_order(const request& request) {
  return {request.key_range, random::derive_seed(request.seed, workload::permutation_stream)};
}

prefill_report insert_in_random_order(measure::crew& threads, std::span<worker> workers,
                                      const request& request, const workload::key_space& space,
                                      std::uint64_t count, std::uint64_t salt) {
  const random::permutation order = random_order(request);
  return insert_each(
      threads, workers, count, [&](std::uint64_t i) { return space.key(order(i)); }, salt,
      prefill_method::permutation);
}

prefill_report prefill(measure::crew& threads, std::span<worker> workers, const request& request,
                       const workload::key_space& space, std::uint64_t salt,
                       subject::structure structure) {
  using method = filling::method;
  const method how = request.prefill.filled_by.value_or(method::updates);
  if (how == method::none) return {prefill_method::none, true, 0, 0, 0, 0};
  workers = workers.first(request.prefill.threads.value_or(workers.size()));
  if (std::ranges::any_of(request.roles, [](const role& role) {
        return workload::prefill_is_first_keys(role.work);
      })) {
    return insert_each(
        threads, workers, workload::latest_prefilled(space.range()),
        [&](std::uint64_t i) { return space.key(i); }, salt, prefill_method::first_keys);
  }
  const double share = filled_share_of(request);
  const auto wanted =
      static_cast<std::uint64_t>(std::llround(static_cast<double>(space.range()) * share));
  if (how == method::inserts) {
    return insert_in_random_order(threads, workers, request, space, wanted, salt);
  }
  if (how == method::sorted) {
    const random::permutation order = random_order(request);
    std::vector<std::uint64_t> keys(wanted);
    for (std::uint64_t i = 0; i < wanted; ++i) keys[i] = space.key(order(i));
    std::ranges::sort(keys);
    return insert_each(
        threads, workers, wanted, [&](std::uint64_t i) { return keys[i]; }, salt,
        prefill_method::sorted);
  }
  const bool any_key = structure != subject::structure::map;  // whether or not it is there
  if (share == 0 && !any_key) return {prefill_method::updates, true, 0, 0, 0, 0};
  if (share == 1 && !any_key) {
    return insert_in_random_order(threads, workers, request, space, space.range(), salt);
  }

  const workload::mix updates =
      any_key ? workload::mix{100, 0, 0} : workload::mix{100 * share, 100 * (1 - share), 0};
  // Uniform keys whatever is measured, from the engine that will draw it, but not from an array:
  // that would be made only to be thrown away.
  const workload::options& measured = request.roles[0].work;
  workload::options uniform_updates{.engine = measured.engine,
                                    .draws = measured.draws,
                                    .bounding = measured.bounding,
                                    .mix = updates};
  uniform_updates.engine.array.reset();
  std::vector<std::unique_ptr<workload::generator>> generators(workers.size());
  run_each(threads, workers, [&](unsigned i) {
    generators[i] = workload::make_generator(
        space, uniform_updates, random::derive_seed(workers[i].seed, workload::prefill_stream),
        {i, request.threads()});
  });
  const auto update = [&](std::uint64_t total) {
    run_each(threads, workers, [&](unsigned i) {
      worker& self = workers[i];
      const auto [begin, end] = part_of(total, i, workers.size());
      for (std::uint64_t left = end - begin; left > 0; left -= self.batch.size) {
        generators[i]->fill(self.batch, static_cast<std::size_t>(std::min<std::uint64_t>(
                                            left, operation_batch::capacity)));
        self.handle->perform(self.batch, 0, self.batch.size, task_of(self, salt), self.prefilled);
      }
    });
  };

  if (any_key) {
    update(wanted);
    return {prefill_method::entries,     true, wanted, size_of(workers),
            static_cast<double>(wanted), 0};
  }

  const steady_state target = steady_state_of(space.range(), share);
  prefill_report report{prefill_method::updates, false,           target.updates, 0,
                        target.expected_size,    target.tolerance};
  // The size is looked at only after all of these updates. Stopping at the first size within the
  // tolerance would prefer the side from which it came: every trial would begin too small.
  update(target.updates);
  for (int round = 0;; ++round) {
    report.size = size_of(workers);
    report.converged =
        std::abs(static_cast<double>(report.size) - target.expected_size) <= target.tolerance;
    if (report.converged || round == most_rounds) return report;
    update(space.range());
    report.operations += space.range();
  }
}

}  // namespace assay::trial
