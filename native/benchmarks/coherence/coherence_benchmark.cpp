// How many cache lines would move between 1 to 64 processors that work on one map? A simulation,
// not a measurement.
//
//     coherence_benchmark 10000 bt_map radix_map --processors 4 64 --updates 0 100
//
// Each of the named subjects is filled with half of the keys and aged by as many updates as there
// are keys. Threads that stand for processors then take turns at random, one whole operation at a
// time; what the map reads and writes passes through simulated caches (caches.h). So operations
// never overlap: what is counted is what each costs when it follows others on other processors,
// not what it costs to be disturbed. Where the allocator lays memory is not drawn from the seed:
// with the same seed, counts are the same to about three digits.
//
// Updates are as many inserts as erases, of keys that are drawn uniformly or by Zipf's law with
// exponent 0.99. Gives, for an operation on average: lines fetched because another processor wrote
// them; lines claimed, which the processor had read as others had, and then wrote; copies that
// writes invalidated in other caches; lines from memory; and the transfers (fetched or claimed) of
// the line that has most of them. That line is a limit: it is in one place at a time.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/fixture/benchmark.h"
#include "assay/random/permutation.h"
#include "assay/random/splitmix64.h"
#include "assay/subject/any_map.h"
#include "assay/subject/subject.h"
#include "assay/workload/generator.h"
#include "caches.h"
#include "processors.h"
#include "trace.h"

namespace {

using namespace assay;

struct choice {
  std::vector<std::string> subjects;
  std::vector<unsigned> processors{1, 2, 4, 16, 64};
  std::vector<double> updates{0, 10, 100};  // percent
  std::vector<std::string> distributions{"uniform", "zipf"};
  std::uint64_t warm_up = 60'000;  // operations of all processors
  std::uint64_t counted = 30'000;  // likewise
};

// A map, and what each processor has to itself.
class shared_map {
 public:
  shared_map(const std::string& subject, unsigned number, const workload::key_space& space,
             std::uint64_t seed)
      : space_(space), processors_(number), users_(number) {
    const subject::subject_entry& entry = subject::find_subject(subject);
    if (entry.structure == subject::structure::queue &&
        space.layout() == workload::key_layout::sparse) {
      throw std::invalid_argument(subject + ": a queue's keys grow: choose --layout dense");
    }
    subject::type_spec values;
    values.bits = entry.value_bits;
    map_ = entry.build({.key_range = space.range(), .threads = number, .value = values});
    const random::permutation order(space.range(), seed);
    const std::uint64_t present = space.range() / 2;
    processors_.each([&](unsigned i) {
      users_[i] = std::make_unique<user>();
      users_[i]->handle = map_->attach();
      workload::operation_batch& batch = users_[i]->batch;
      for (std::uint64_t next = i; next < present;) {
        batch.size = 0;
        for (; batch.size < batch.capacity && next < present; next += number) {
          batch.keys[batch.size] = space.key(order(next));
          batch.kinds[batch.size++] = workload::operation::insert;
        }
        users_[i]->perform(0, batch.size);
      }
    });
    draw({.mix = {50, 50, 0}}, seed);
    processors_.at_random(space.range() / batch_size + 1, seed,
                          [&](unsigned i) { users_[i]->next(batch_size); });
  }

  shared_map(const shared_map&) = delete;
  shared_map& operator=(const shared_map&) = delete;
  // Handles are destroyed by the threads that have them.
  ~shared_map() {
    processors_.each([&](unsigned i) { users_[i].reset(); });
  }

  // Adds what is counted to `found`, under these names.
  void count(const workload::options& drawn, const choice& chosen, std::uint64_t seed,
             const std::string& workload, const std::string& entrant, fixture::figures& found) {
    draw(drawn, seed);
    coherence::caches all(static_cast<unsigned>(users_.size()));
    const auto traced = [&](unsigned i) { users_[i]->traced_next(all, i); };
    processors_.at_random(chosen.warm_up, ~seed, traced);
    all.start_counting();
    processors_.at_random(chosen.counted, seed, traced);
    const auto add = [&](const char* what, std::uint64_t number) {
      found[workload + ": " + what][entrant].push_back(static_cast<double>(number) /
                                                       static_cast<double>(chosen.counted));
    };
    add("fetched", all.counted().fetched);
    add("claimed", all.counted().claimed);
    add("invalidated", all.counted().invalidated);
    add("from memory", all.counted().from_memory);
    add("busiest", all.transfers_of_busiest());
  }

 private:
  static constexpr std::size_t batch_size = workload::operation_batch::capacity;

  struct alignas(workload::interference_bytes) user {
    workload::operation_batch batch;
    std::size_t done = 0;  // of the batch
    subject::tally sums{};
    subject::task task{};
    std::unique_ptr<workload::generator> operations;
    std::unique_ptr<subject::any_handle> handle;

    void perform(std::size_t first, std::size_t last) {
      handle->perform(batch, first, last, task, sums);
    }
    void next(std::size_t number) {
      operations->fill(batch, number);
      perform(0, number);
    }
    // One operation.
    void traced_next(coherence::caches& all, unsigned processor) {
      if (done == batch.size) {
        batch.size = batch_size;
        operations->fill(batch, batch_size);
        done = 0;
      }
      const coherence::tracing as(all, processor);
      perform(done, done + 1);
      ++done;
    }
  };

  void draw(const workload::options& drawn, std::uint64_t seed) {
    for (std::size_t i = 0; i < users_.size(); ++i) {
      users_[i]->operations = workload::make_generator(space_, drawn, random::derive_seed(seed, i));
      users_[i]->done = users_[i]->batch.size = 0;
    }
  }

  const workload::key_space& space_;
  std::unique_ptr<subject::any_map> map_;
  coherence::processors processors_;
  std::vector<std::unique_ptr<user>> users_;
};

fixture::figures figures_of(const choice& chosen, const workload::key_space& space,
                            const fixture::settings& settings) {
  fixture::figures found;
  random::splitmix64 seeds(settings.seed);
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    for (const std::string& subject : chosen.subjects) {
      for (const unsigned number : chosen.processors) {
        shared_map map(subject, number, space, seeds());
        const std::string entrant = subject + ":" + std::to_string(number);
        for (const double percent : chosen.updates) {
          for (const std::string& name : chosen.distributions) {
            workload::options drawn{.mix = {percent / 2, percent / 2, 100 - percent}};
            if (name == "zipf") drawn.keys.kind = workload::distribution_kind::zipf;
            const std::string workload = fixture::readable(percent) + "% updates, " + name;
            map.count(drawn, chosen, seeds(), workload, entrant, found);
          }
        }
      }
    }
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t keys = 0;
  choice chosen;
  std::string layout = "sparse";
  CLI::App cli("Counts the cache lines that would move between processors: a simulation.");
  cli.add_option("keys", keys)->required()->check(CLI::Range(UINT64_C(2), UINT64_C(1) << 30));
  cli.add_option("subjects", chosen.subjects, "SUBJECT...")->required();
  cli.add_option("--processors", chosen.processors)
      ->check(CLI::Range(1U, coherence::caches::most_processors));
  cli.add_option("--updates", chosen.updates, "percent of the operations")
      ->check(CLI::Range(0.0, 100.0));
  cli.add_option("--distributions", chosen.distributions)
      ->check(CLI::IsMember({"uniform", "zipf"}));
  cli.add_option("--warm-up", chosen.warm_up, "operations of all processors");
  cli.add_option("--counted", chosen.counted, "operations of all processors")
      ->check(CLI::PositiveNumber);
  cli.add_option("--layout", layout)->check(CLI::IsMember({"dense", "sparse"}));
  return fixture::run_benchmark(cli, argc, argv, 1, [&](const fixture::settings& settings) {
    const auto key_layout =
        layout == "dense" ? workload::key_layout::dense : workload::key_layout::sparse;
    const workload::key_space space(keys, key_layout, settings.seed);
    return figures_of(chosen, space, settings);
  });
}
