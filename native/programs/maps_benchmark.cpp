// How do maps compare, side by side, where a trial would take long to fill each of them?
//
//     maps_benchmark 2000000 natarajan_mittal_bst:1 natarajan_mittal_bst:2 cds_rcu_skip_list:2
//         --mix searches=0,0,100,50 --mix updates=50,50,0,50
//
// Builds each of the named subjects, inserts this percentage of the keys, in random order, lets it
// age by as many random updates as there are keys, and then measures all that is named, subjects
// with numbers of threads, by turns with each of the mixes, for a short while, again and again. A
// mix is inserts, erases, searches and keys present at the start, in percent. What is measured of
// one subject with several numbers of threads, or with several mixes that keep the same number of
// keys, is measured of one and the same map, so that it differs in nothing else. Of libcds only
// maps that reclaim memory alike can be named together: it attaches a thread to the collectors
// there are, once, and sets aside as many hazard pointers as its first map needs. Multimaps and
// queues are measured as trials do it (assay/trial/measured_bag.h).
//
// Prints operations per second as JSON: mix -> subject:threads -> a number for each round, where
// what has the same place ran within seconds.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/host/allocator.h"
#include "assay/host/clock.h"
#include "assay/host/placement.h"
#include "assay/random/permutation.h"
#include "assay/trial/crew.h"
#include "assay/trial/subject.h"
#include "assay/trial/worker.h"
#include "assay/workload/generator.h"

namespace {

using namespace assay;
using std::chrono::milliseconds;

using crews = std::map<unsigned, trial::crew>;  // by their numbers of threads

// A subject and how many threads are to work on it.
struct entrant {
  std::string subject;
  unsigned threads;
};

struct named_mix {
  std::string name;
  workload::mix mix;
  double filled;  // percent of the keys
};

// How long the operations of a turn run before they are measured, and how long they are.
struct turn {
  milliseconds warm_up;
  milliseconds measured;
};

template <class Number>
Number parse(const std::string& text, const std::string& whole) {
  Number number{};
  const char* const end = text.data() + text.size();
  if (const auto [stop, error] = std::from_chars(text.data(), end, number);
      error != std::errc() || stop != end) {
    throw std::invalid_argument(whole + ": \"" + text + "\" is not a number");
  }
  return number;
}

// The text before and after a separator, in an argument that is `whole`.
std::pair<std::string, std::string> divide(const std::string& text, char separator,
                                           const std::string& whole, const char* form) {
  const auto at = text.find(separator);
  if (at == std::string::npos) throw std::invalid_argument(whole + ": must be " + form);
  return {text.substr(0, at), text.substr(at + 1)};
}

entrant parse_entrant(const std::string& text) {
  const auto [subject, number] = divide(text, ':', text, "SUBJECT:THREADS");
  const auto threads = parse<unsigned>(number, text);
  const auto most = trial::find_subject(subject).max_threads.value_or(1024);
  if (threads < 1 || threads > most) {
    throw std::invalid_argument(text + ": the threads must be 1 to " + std::to_string(most));
  }
  return {subject, threads};
}

named_mix parse_mix(const std::string& text) {
  constexpr const char* form = "NAME=INSERTS,ERASES,SEARCHES,FILLED";
  auto [name, rest] = divide(text, '=', text, form);
  std::array<double, 4> percent{};
  for (std::size_t i = 0; i + 1 < percent.size(); ++i) {
    auto [first, others] = divide(rest, ',', text, form);
    percent[i] = parse<double>(first, text);
    rest = std::move(others);
  }
  percent.back() = parse<double>(rest, text);
  const auto [inserts, erases, searches, filled] = percent;
  // What is not a number is not between any two.
  const bool are_percent =
      std::ranges::all_of(percent, [](double each) { return 0 <= each && each <= 100; });
  if (!are_percent || inserts + erases + searches != 100) {
    throw std::invalid_argument(text + ": percent, the first three of which add to 100");
  }
  const workload::mix mix{inserts, erases, searches};
  if (inserts + erases > 0 && std::abs(mix.steady_share() * 100 - filled) > 1) {
    throw std::invalid_argument(text + ": these updates do not keep " + std::to_string(filled) +
                                "% of the keys, but " + std::to_string(mix.steady_share() * 100));
  }
  return {std::move(name), mix, filled};
}

// A map, and what each thread of each crew that works on it has to itself.
class filled_map {
 public:
  // `numbers` are those of the threads of the crews; the largest fills the map.
  filled_map(const trial::subject_entry& subject, const std::set<unsigned>& numbers, crews& all,
             const workload::key_space& space, const trial::datum& numbers_of, double filled,
             std::uint64_t seed)
      : crews_(all), space_(space) {
    unsigned attached = 0;
    for (const unsigned number : numbers) attached += number;
    map_ = subject.build(
        {.key_range = space.range(), .threads = attached, .key = numbers_of, .value = numbers_of});
    for (const unsigned number : numbers) {
      std::vector<trial::worker>& team = teams_.try_emplace(number, number).first->second;
      crews_.at(number).run([&](unsigned i) {
        team[i].series.resize(1);
        team[i].handle = map_->attach();
      });
    }
    fill(*numbers.rbegin(), filled, seed);
  }
  filled_map(const filled_map&) = delete;
  filled_map& operator=(const filled_map&) = delete;
  ~filled_map() = delete;  // main() says why

  // Operations per second in one turn.
  double measure(unsigned threads, const workload::mix& mix, const turn& turn, std::uint64_t seed) {
    double rate = 0;
    // A turn in which other programs had all processors tells nothing.
    while (rate == 0) rate = try_to_measure(threads, mix, turn, seed);
    return rate;
  }

 private:
  double try_to_measure(unsigned threads, const workload::mix& mix, const turn& turn,
                        std::uint64_t seed) {
    std::vector<trial::worker>& team = teams_.at(threads);
    trial::timetable times{
        .start_ns = 0,
        .warm_up_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(turn.warm_up).count()),
        .interval_ns = UINT64_MAX};
    std::stop_source stop;
    std::barrier common_start(static_cast<std::ptrdiff_t>(threads) + 1,
                              [&times]() noexcept { times.start_ns = host::now_ns(); });
    crews_.at(threads).start([&](unsigned i) {
      trial::worker& self = team[i];
      self.operations = workload::make_generator(space_, {.mix = mix}, seed + i);
      self.meter.emplace();
      self.measured = {};
      common_start.arrive_and_wait();
      trial::measure(self, times, 0, stop.get_token());
    });
    common_start.arrive_and_wait();
    std::this_thread::sleep_for(turn.warm_up + turn.measured);
    stop.request_stop();
    crews_.at(threads).wait();
    double rate = 0;
    for (const trial::worker& each : team) {
      rate += static_cast<double>(each.measured.operations()) * 1e9 /
              static_cast<double>(each.measured_ns);
    }
    return rate;
  }

  void fill(unsigned threads, double filled, std::uint64_t seed) {
    const auto range = static_cast<double>(space_.range());
    const auto present = static_cast<std::uint64_t>(std::llround(range * filled / 100));
    const random::permutation order(space_.range(), seed);
    std::vector<trial::worker>& team = teams_.at(threads);
    crews_.at(threads).run([&](unsigned i) {
      trial::worker& self = team[i];
      trial::tally sums;
      for (std::uint64_t next = i; next < present;) {
        self.batch.size = 0;
        for (; self.batch.size < self.batch.capacity && next < present; next += threads) {
          self.batch.keys[self.batch.size] = space_.key(order(next));
          self.batch.kinds[self.batch.size++] = workload::operation::insert;
        }
        self.handle->perform(self.batch, 0, self.batch.size, {}, sums);
      }
      if (filled == 0 || filled == 100) return;  // what no updates keep
      const auto updates =
          workload::make_generator(space_, {.mix = {filled, 100 - filled, 0}}, ~(seed + i));
      for (std::uint64_t done = 0; done < space_.range() / threads; done += self.batch.size) {
        updates->fill(self.batch, self.batch.capacity);
        self.handle->perform(self.batch, 0, self.batch.size, {}, sums);
      }
    });
  }

  crews& crews_;
  const workload::key_space& space_;
  std::unique_ptr<trial::measured_map> map_;
  std::map<unsigned, std::vector<trial::worker>> teams_;  // by their numbers of threads
};

nlohmann::json measure(const std::vector<entrant>& entrants, const std::vector<named_mix>& mixes,
                       const workload::key_space& space, const trial::datum& numbers_of,
                       const turn& turn, std::size_t rounds) {
  std::mt19937_64 random(std::random_device{}());
  crews all;
  std::map<std::string, std::set<unsigned>> numbers;  // of threads, by subject
  for (const auto& [subject, threads] : entrants) {
    numbers[subject].insert(threads);
    if (all.contains(threads)) continue;
    const host::placement place(host::parse_pinning("cores_first"), threads);
    all.try_emplace(threads, threads).first->second.run([&place](unsigned i) {
      place.bind_this_thread(i);
    });
  }
  std::map<std::pair<std::string, double>, filled_map*> maps;  // by subject and percent filled
  for (const named_mix& each : mixes) {
    for (const auto& [subject, threads] : numbers) {
      filled_map*& map = maps[{subject, each.filled}];
      if (map != nullptr) continue;
      map = new filled_map(trial::find_subject(subject), threads, all, space, numbers_of,
                           each.filled, random());
    }
  }
  nlohmann::json told;
  std::vector<entrant> order = entrants;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const auto& [name, mix, filled] : mixes) {
      std::ranges::shuffle(order, random);
      for (const auto& [subject, threads] : order) {
        const double rate = maps[{subject, filled}]->measure(threads, mix, turn, random());
        told[name][subject + ":" + std::to_string(threads)].push_back(rate);
      }
    }
  }
  return told;
}

}  // namespace

int main(int argc, char** argv) try {
  std::uint64_t keys = 0;
  std::vector<std::string> named;
  std::vector<std::string> mixes_named;
  std::string layout = "dense";
  unsigned bits = 64;
  std::string allocator;
  std::size_t rounds = 5;
  unsigned warm_up_ms = 20;
  unsigned measured_ms = 50;
  CLI::App cli("Measures maps by turns.");
  cli.add_option("keys", keys)->required()->check(CLI::Range(UINT64_C(2), UINT64_C(1) << 40));
  cli.add_option("subjects", named, "SUBJECT:THREADS...")->required();
  cli.add_option("--mix", mixes_named, "NAME=INSERTS,ERASES,SEARCHES,FILLED, in percent")
      ->required()
      ->allow_extra_args(false);
  cli.add_option("--layout", layout)->check(CLI::IsMember({"dense", "sparse"}));
  cli.add_option("--numbers", bits, "bits of keys and values")->check(CLI::IsMember({32U, 64U}));
  cli.add_option("--allocator", allocator, "the allocator that must be in the process");
  cli.add_option("--rounds", rounds)->check(CLI::Range(1U, 1000U));
  cli.add_option("--warm-up-ms", warm_up_ms, "of each turn")->check(CLI::Range(0U, 10'000U));
  cli.add_option("--measured-ms", measured_ms, "of each turn")->check(CLI::Range(1U, 10'000U));
  CLI11_PARSE(cli, argc, argv);

  if (!allocator.empty()) host::require_allocator(allocator);
  std::vector<entrant> entrants(named.size());
  std::ranges::transform(named, entrants.begin(), parse_entrant);
  std::vector<named_mix> mixes(mixes_named.size());
  std::ranges::transform(mixes_named, mixes.begin(), parse_mix);
  const auto key_layout =
      layout == "dense" ? workload::key_layout::dense : workload::key_layout::sparse;
  const workload::key_space space(keys, key_layout, std::random_device{}());
  const turn turn{milliseconds(warm_up_ms), milliseconds(measured_ms)};
  const trial::datum numbers_of{.type = bits == 32 ? trial::datum::kind::uint32
                                                   : trial::datum::kind::uint64};
  std::cout << measure(entrants, mixes, space, numbers_of, turn, rounds) << '\n' << std::flush;
  // Without destroying the maps: two of libcds share a collector, which the first would take along.
  std::_Exit(std::cout ? 0 : 1);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
