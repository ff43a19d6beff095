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
// queues are measured as trials do it (assay/subject/erased_bag.h).
//
// A subject named as std_map_mutex:1:64 is measured while one operation in 64 is timed, as trials
// do it to sample latencies. One named as std_map_mutex:1:signed is a map of its own, with values
// that say who drew them and when, as those of trials do (assay/subject/witness.h); values of
// others depend on their keys alone. Gives operations per second.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "assay/fixture/benchmark.h"
#include "assay/host/placement.h"
#include "assay/measure/common_start.h"
#include "assay/measure/crew.h"
#include "assay/random/permutation.h"
#include "assay/random/splitmix64.h"
#include "assay/subject/subject.h"
#include "assay/subject/witness.h"
#include "assay/trial/worker.h"
#include "assay/workload/generator.h"

namespace {

using namespace assay;
using namespace std::string_literals;
using std::chrono::milliseconds;

using crews = std::map<unsigned, measure::crew>;  // by their numbers of threads

// A subject, how many threads are to work on it, which of their operations are timed, and what
// their values say.
struct entrant {
  std::string name;
  std::string subject;
  unsigned threads;
  trial::latency_sampling sampling;  // one in this many, or none if it is 0
  bool is_signed;
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
  auto [subject, rest] =
      divide(text, ':', text, "SUBJECT:THREADS, SUBJECT:THREADS:ONE_IN or SUBJECT:THREADS:signed");
  const bool has_more = rest.find(':') != std::string::npos;
  const auto [number, more] = has_more ? divide(rest, ':', text, "") : std::pair(rest, "0"s);
  const bool is_signed = more == "signed";
  const auto threads = parse<unsigned>(number, text);
  const auto most = subject::find_subject(subject).max_threads.value_or(1024);
  if (threads < 1 || threads > most) {
    throw std::invalid_argument(text + ": the threads must be 1 to " + std::to_string(most));
  }
  return {text, std::move(subject), threads,
          is_signed ? 0 : parse<trial::latency_sampling>(more, text), is_signed};
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
  filled_map(const subject::subject_entry& subject, const std::set<unsigned>& numbers, crews& all,
             const workload::key_space& space, const subject::type_spec& numbers_of, double filled,
             bool is_signed, std::uint64_t seed)
      : crews_(all), space_(space) {
    unsigned attached = 0;
    for (const unsigned number : numbers) attached += number;
    subject::type_spec values = numbers_of;
    values.bits = subject.value_bits;
    if (is_signed)
      rules_.emplace(0, values, attached, std::span(subject.reserved_values), space, true);
    unsigned writer = 0;
    map_ = subject.build(
        {.key_range = space.range(), .threads = attached, .key = numbers_of, .value = values});
    for (const unsigned number : numbers) {
      std::vector<trial::worker>& team = teams_.try_emplace(number, number).first->second;
      crews_.at(number).run([&](unsigned i) {
        team[i].series.resize(1);
        team[i].handle = map_->attach();
        if (rules_) team[i].seen.emplace(*rules_, writer + i);
      });
      writer += number;
    }
    fill(*numbers.rbegin(), filled, seed);
  }
  filled_map(const filled_map&) = delete;
  filled_map& operator=(const filled_map&) = delete;
  ~filled_map() = delete;  // main() says why

  // Operations per second in one turn.
  double figures_of(const entrant& entrant, const workload::mix& mix, const turn& turn,
                    std::uint64_t seed) {
    double rate = 0;
    // A turn in which other programs had all processors tells nothing.
    while (rate == 0) rate = try_to_measure(entrant, mix, turn, seed);
    return rate;
  }

 private:
  double try_to_measure(const entrant& entrant, const workload::mix& mix, const turn& turn,
                        std::uint64_t seed) {
    std::vector<trial::worker>& team = teams_.at(entrant.threads);
    measure::crew& threads = crews_.at(entrant.threads);
    threads.run([&](unsigned i) {
      trial::worker& self = team[i];
      self.operations = workload::make_generator(space_, {.mix = mix}, seed + i);
      self.latency.reset();
      if (entrant.sampling > 0) self.latency.emplace(entrant.sampling, mix, ~(seed + i));
      self.meter.emplace();
      self.measured = {};
    });
    const auto warm_up_ns =
        static_cast<std::uint64_t>(std::chrono::nanoseconds(turn.warm_up).count());
    std::stop_source stop;
    measure::common_start start(std::size_t{entrant.threads} + 1);
    threads.start([&](unsigned i) {
      trial::measure(
          team[i],
          {.start_ns = start.arrive(), .warm_up_ns = warm_up_ns, .interval_ns = UINT64_MAX}, 0,
          stop.get_token());
    });
    static_cast<void>(start.arrive());
    std::this_thread::sleep_for(turn.warm_up + turn.measured);
    stop.request_stop();
    threads.wait();
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
      const subject::task task{.seen = self.seen ? &*self.seen : nullptr};
      subject::tally sums;
      for (std::uint64_t next = i; next < present;) {
        self.batch.size = 0;
        for (; self.batch.size < self.batch.capacity && next < present; next += threads) {
          self.batch.keys[self.batch.size] = space_.key(order(next));
          self.batch.kinds[self.batch.size++] = workload::operation::insert;
        }
        self.handle->perform(self.batch, 0, self.batch.size, task, sums);
      }
      if (filled == 0 || filled == 100) return;  // what no updates keep
      const auto updates =
          workload::make_generator(space_, {.mix = {filled, 100 - filled, 0}}, ~(seed + i));
      for (std::uint64_t done = 0; done < space_.range() / threads; done += self.batch.size) {
        updates->fill(self.batch, self.batch.capacity);
        self.handle->perform(self.batch, 0, self.batch.size, task, sums);
      }
    });
  }

  crews& crews_;
  const workload::key_space& space_;
  std::optional<subject::value_rules> rules_;  // none: values depend on keys alone
  std::unique_ptr<subject::any_map> map_;
  std::map<unsigned, std::vector<trial::worker>> teams_;  // by their numbers of threads
};

struct choice {
  std::vector<entrant> entrants;
  std::vector<named_mix> mixes;
  turn length;
};

fixture::figures figures_of(const choice& chosen, const workload::key_space& space,
                            const subject::type_spec& numbers_of,
                            const fixture::settings& settings) {
  random::splitmix64 seeds(settings.seed);
  crews all;
  std::map<std::string, std::set<unsigned>> numbers;  // of threads, by subject
  for (const entrant& each : chosen.entrants) {
    numbers[each.subject].insert(each.threads);
    if (all.contains(each.threads)) continue;
    const host::placement place(host::parse_pinning("cores_first"), each.threads);
    all.try_emplace(each.threads, each.threads).first->second.run([&place](unsigned i) {
      place.bind_this_thread(i);
    });
  }
  // By subject, percent filled and what values say.
  std::map<std::tuple<std::string, double, bool>, filled_map*> maps;
  fixture::turns turns;
  for (const named_mix& mix : chosen.mixes) {
    for (const entrant& each : chosen.entrants) {
      filled_map*& map = maps[{each.subject, mix.filled, each.is_signed}];
      if (map == nullptr) {
        map = new filled_map(subject::find_subject(each.subject), numbers[each.subject], all, space,
                             numbers_of, mix.filled, each.is_signed, seeds());
      }
      turns.add(mix.name, each.name, [&, map](std::uint64_t seed) {
        return map->figures_of(each, mix.mix, chosen.length, seed);
      });
    }
  }
  return turns.run(settings.rounds, settings.seed);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t keys = 0;
  std::vector<std::string> named;
  std::vector<std::string> mixes_named;
  std::string layout = "dense";
  unsigned bits = 64;
  unsigned warm_up_ms = 20;
  unsigned measured_ms = 50;
  CLI::App cli("Measures maps by turns.");
  cli.add_option("keys", keys)->required()->check(CLI::Range(UINT64_C(2), UINT64_C(1) << 40));
  cli.add_option("subjects", named, "SUBJECT:THREADS[:ONE_IN|:signed]...")->required();
  cli.add_option("--mix", mixes_named, "NAME=INSERTS,ERASES,SEARCHES,FILLED, in percent")
      ->required()
      ->allow_extra_args(false);
  cli.add_option("--layout", layout)->check(CLI::IsMember({"dense", "sparse"}));
  cli.add_option("--numbers", bits, "bits of keys and values")->check(CLI::IsMember({32U, 64U}));
  cli.add_option("--warm-up-ms", warm_up_ms, "of each turn")->check(CLI::Range(0U, 10'000U));
  cli.add_option("--measured-ms", measured_ms, "of each turn")->check(CLI::Range(1U, 10'000U));
  const int code = fixture::run_benchmark(cli, argc, argv, 5, [&](const auto& settings) {
    choice chosen{.entrants = std::vector<entrant>(named.size()),
                  .mixes = std::vector<named_mix>(mixes_named.size()),
                  .length = {milliseconds(warm_up_ms), milliseconds(measured_ms)}};
    std::ranges::transform(named, chosen.entrants.begin(), parse_entrant);
    std::ranges::transform(mixes_named, chosen.mixes.begin(), parse_mix);
    const auto key_layout =
        layout == "dense" ? workload::key_layout::dense : workload::key_layout::sparse;
    const workload::key_space space(keys, key_layout, settings.seed);
    const subject::type_spec numbers_of{.type = bits == 32 ? subject::type_spec::kind::uint32
                                                           : subject::type_spec::kind::uint64};
    return figures_of(chosen, space, numbers_of, settings);
  });
  // Without destroying the maps: two of libcds share a collector, which the first would take along.
  std::_Exit(code);
}
