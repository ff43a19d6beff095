// How do maps compare, side by side, where a trial would take long to fill each of them?
//
//     maps_benchmark 2 2000000 natarajan_mittal_bst ticket_bst cds_rcu_skip_list
//
// Builds each of the named subjects for so many threads and keys, fills it to half by random
// inserts, lets it age by as many random updates as there are keys, and then measures all of them
// by turns with searches alone, 10, 50 and 100% updates, each for a short while, again and again.
// Prints operations per second as JSON: updates -> subject -> a number for each round, where what
// has the same place ran within a second.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "assay/host/clock.h"
#include "assay/host/placement.h"
#include "assay/trial/crew.h"
#include "assay/trial/subject.h"
#include "assay/trial/worker.h"
#include "assay/workload/generator.h"

namespace {

using namespace assay;

constexpr std::size_t rounds = 5;
constexpr std::chrono::milliseconds stretch(50);
constexpr std::array<unsigned, 4> updates_percent = {0, 10, 50, 100};

workload::mix mix_of(unsigned updates) { return {updates / 2.0, updates / 2.0, 100.0 - updates}; }

// A map and what each of its threads has to itself.
class filled_map {
 public:
  filled_map(const std::string& subject, trial::crew& threads, unsigned number, std::uint64_t keys,
             std::uint64_t seed)
      : threads_(threads),
        space_(keys, workload::key_layout::dense, seed),
        map_(trial::find_subject(subject).build({.key_range = keys, .threads = number})),
        workers_(number) {
    threads_.run([&](unsigned i) {
      trial::worker& self = workers_[i];
      self.series.resize(1);
      self.handle = map_->attach();
      auto perform_from = [&self, sums = trial::tally{}](const auto& operations) mutable {
        operations->fill(self.batch, workload::operation_batch::capacity);
        self.handle->perform(self.batch, 0, self.batch.size, {}, sums);
        return sums.succeeded[0];
      };
      const auto inserts = workload::make_generator(space_, {.mix = {100, 0, 0}}, seed + i);
      while (perform_from(inserts) < keys / 2 / number) {
      }
      const auto updates = workload::make_generator(space_, {.mix = mix_of(100)}, ~(seed + i));
      for (std::uint64_t done = 0; done < keys / number; done += self.batch.size) {
        perform_from(updates);
      }
    });
  }
  filled_map(const filled_map&) = delete;
  filled_map& operator=(const filled_map&) = delete;
  ~filled_map() = delete;  // main() says why

  // Operations per second over one stretch of time.
  double measure(unsigned updates, std::uint64_t seed) {
    std::stop_source stop;
    threads_.start([&](unsigned i) {
      trial::worker& self = workers_[i];
      self.operations = workload::make_generator(space_, {.mix = mix_of(updates)}, seed + i);
      self.meter.emplace();
      self.measured = {};
      trial::measure(self, {host::now_ns(), 0, UINT64_MAX}, 0, stop.get_token());
    });
    std::this_thread::sleep_for(stretch);
    stop.request_stop();
    threads_.wait();
    double rate = 0;
    for (const trial::worker& each : workers_) {
      rate += static_cast<double>(each.measured.operations()) * 1e9 /
              static_cast<double>(each.measured_ns);
    }
    return rate;
  }

 private:
  trial::crew& threads_;
  workload::key_space space_;
  std::unique_ptr<trial::measured_map> map_;
  std::vector<trial::worker> workers_;
};

}  // namespace

int main(int argc, char** argv) try {
  unsigned number = 0;
  std::uint64_t keys = 0;
  std::vector<std::string> subjects;
  CLI::App cli("Measures maps by turns, with searches alone, 10, 50 and 100% updates.");
  cli.add_option("threads", number)->required()->check(CLI::Range(1U, 1024U));
  cli.add_option("keys", keys)->required()->check(CLI::Range(UINT64_C(4096), UINT64_C(1) << 40));
  cli.add_option("subjects", subjects)->required();
  CLI11_PARSE(cli, argc, argv);

  std::mt19937_64 random(std::random_device{}());
  const host::placement place(host::parse_pinning("compact"), number);
  trial::crew threads(number);
  threads.run([&place](unsigned i) { place.bind_this_thread(i); });
  std::vector<filled_map*> maps;
  for (const std::string& subject : subjects) {
    maps.push_back(new filled_map(subject, threads, number, keys, random()));
  }
  nlohmann::json told;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const unsigned updates : updates_percent) {
      std::vector<std::size_t> order(maps.size());
      std::ranges::generate(order, [next = 0U]() mutable { return next++; });
      std::ranges::shuffle(order, random);
      for (const std::size_t at : order) {
        told[std::to_string(updates)][subjects[at]].push_back(maps[at]->measure(updates, random()));
      }
    }
  }
  std::cout << told << '\n' << std::flush;
  // Without destroying the maps: two of libcds share a collector, which the first would take along.
  std::_Exit(std::cout ? 0 : 1);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
