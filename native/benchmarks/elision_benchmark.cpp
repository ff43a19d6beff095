// What does an elided lock cost beside the lock below it, and what does it gain?
//
// The same short section behind a std::mutex and behind an elided one, by turns: by one thread; by
// two that count in one place; and by two that count each in a place of its own, where transactions
// have no conflict. The code of the section lies at a place that is drawn for each turn: three
// instructions that do nothing, before a std::mutex is locked, moved the time of searches behind it
// by a fifth where two threads contend. ASSAY_TRANSACTIONS=none in the environment tells what is
// left where a processor has none. Then it is one branch, which is also measured alone.

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "assay/fixture/benchmark.h"
#include "assay/fixture/keep.h"
#include "assay/fixture/turns.h"
#include "assay/host/transactions.h"
#include "assay/locks/transaction.h"
#include "assay/measure/common_start.h"
#include "assay/measure/crew.h"
#include "assay/measure/ns_each.h"
#include "assay/probe/elided_locks.h"
#include "assay/random/splitmix64.h"

namespace {

using namespace assay;

struct alignas(64) counter {
  std::uint64_t value = 0;
};

template <class Lock>
struct alignas(64) guarded {
  Lock lock;
  std::array<counter, 2> counters;
};

// Its loop begins `offset` bytes behind the start of a cache line, or a few more.
template <class Lock, int offset>
[[gnu::noinline, gnu::aligned(64)]] void count_at(Lock& lock, std::uint64_t& counter,
                                                  std::uint64_t times) {
  asm volatile(".rept %c0\n\tnop\n\t.endr" ::"i"(offset));  // of a byte each, on x86-64
  for (std::uint64_t i = 0; i < times; ++i) {
    const std::scoped_lock held(lock);
    fixture::keep(++counter);
  }
}

template <class Lock>
using section = void (*)(Lock&, std::uint64_t&, std::uint64_t);

// Draws for each lock separately, though both get the same seed.
template <class Lock>
section<Lock> drawn_section(std::uint64_t seed) {
  constexpr std::array<section<Lock>, 4> all{count_at<Lock, 16>, count_at<Lock, 32>,
                                             count_at<Lock, 48>, count_at<Lock, 64>};
  return all.at(random::derive_seed(seed, sizeof(Lock)) % all.size());
}

// Nanoseconds of a section. The lock is at another place of the heap in each turn.
template <class Lock>
double ns_alone(section<Lock> count) {
  constexpr std::uint64_t sections = 200'000;
  const auto all = std::make_unique<guarded<Lock>>();
  std::uint64_t& counter = all->counters[0].value;
  count(all->lock, counter, sections / 10);
  return measure::ns_each(sections, [&] { count(all->lock, counter, sections); });
}

template <class Lock>
double ns_of_two(measure::crew& two, section<Lock> count, bool in_one_place) {
  constexpr std::uint64_t sections = 100'000;  // of both
  const auto all = std::make_unique<guarded<Lock>>();
  measure::common_start start(2);
  const double ns = measure::ns_each(sections, [&] {
    two.run([&](unsigned thread) {
      static_cast<void>(start.arrive());
      count(all->lock, all->counters[in_one_place ? 0 : thread].value, sections / 2);
    });
  });
  if (all->counters[0].value + all->counters[1].value != sections) {
    throw std::logic_error("a section was lost");
  }
  return ns;
}

// What transaction.h adds to code that could have transactions.
template <bool asks>
[[gnu::noinline]] double ns_of_call() {
  constexpr std::uint64_t calls = 1'000'000;
  std::uint64_t counter = 0;
  return measure::ns_each(calls, [&] {
    for (std::uint64_t i = 0; i < calls; ++i) {
      const bool elided = asks && sync::transaction::begin().begun();
      fixture::keep(++counter);
      if (elided) sync::transaction::commit();
    }
  });
}

template <class Lock>
void add_lock(fixture::turns& all, const std::string& name, measure::crew& two) {
  all.add("one thread", name,
          [](std::uint64_t seed) { return ns_alone(drawn_section<Lock>(seed)); });
  all.add("two threads, one counter", name,
          [&two](std::uint64_t seed) { return ns_of_two(two, drawn_section<Lock>(seed), true); });
  all.add("two threads, a counter each", name,
          [&two](std::uint64_t seed) { return ns_of_two(two, drawn_section<Lock>(seed), false); });
}

fixture::figures figures_of(const fixture::settings& settings) {
  measure::crew two(2);
  fixture::turns all;
  add_lock<std::mutex>(all, "mutex", two);
  add_lock<probe::elided_lock<std::mutex>>(all, "elided", two);
  add_lock<sync::compact_elided_lock<std::mutex, probe::elision_observer>>(all, "compact", two);
  all.add("a call", "counts", [](std::uint64_t) { return ns_of_call<false>(); });
  all.add("a call", "asks for a transaction", [](std::uint64_t) { return ns_of_call<true>(); });
  fixture::figures found = all.run(settings.rounds, settings.seed);
  found["transactions"]["here"].push_back(sync::transaction::available() ? 1 : 0);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  host::obey_transactions_setting();
  CLI::App cli("Measures elided locks, in nanoseconds of a section.");
  return fixture::run_benchmark(cli, argc, argv, 31, figures_of);
}
