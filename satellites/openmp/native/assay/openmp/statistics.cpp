#include "assay/openmp/statistics.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <vector>

#include "assay/base/atomics.h"
#include "assay/openmp/places.h"
#include "assay/openmp/settings.h"

namespace assay::omp::statistics {
namespace {

constexpr std::array names{"parallel", "end of parallel", "barrier",  "task",
                           "taskwait", "taskgroup",       "critical", "other"};

// Written by one thread; read at the end, when others may still wait.
struct counter {
  atomic<std::uint64_t> value{0};

  void add(std::uint64_t more) noexcept {
    value.store(value.load(memory_order_relaxed) + more, memory_order_relaxed);
  }
};
struct counts {
  std::array<counter, names.size()> uses;
  std::array<counter, names.size()> waits;
  std::array<counter, names.size()> nanoseconds;
  std::array<counter, static_cast<std::size_t>(elision_event::locked) + 1> elisions;
};

// Never freed: threads count until the process is gone.
struct registry {
  std::mutex mutex;
  std::vector<counts*> threads;
};
registry& all() {
  static auto* const once = new registry;
  return *once;
}

counts& of_this_thread() {
  [[gnu::tls_model("initial-exec")]] static thread_local constinit counts* mine = nullptr;
  if (mine == nullptr) {
    mine = new counts;
    const std::scoped_lock held(all().mutex);
    all().threads.push_back(mine);
  }
  return *mine;
}

unsigned long long all_of(elision_event what) {
  std::uint64_t sum = 0;
  for (const counts* each : all().threads) {
    sum += each->elisions[static_cast<std::size_t>(what)].value.load(memory_order_relaxed);
  }
  return sum;
}

void print_elisions() {
  if (all_of(elision_event::begun) == 0) return;
  std::fprintf(stderr,
               "critical sections as transactions: %llu; committed %llu, lock held %llu, conflicts "
               "%llu, too large %llu, others %llu; under the lock: %llu\n",
               all_of(elision_event::begun), all_of(elision_event::committed),
               all_of(elision_event::lock_held), all_of(elision_event::conflict),
               all_of(elision_event::too_large), all_of(elision_event::other),
               all_of(elision_event::locked));
}

// When the program ends. Of programs that it starts without OpenMP there is nothing to say.
[[gnu::destructor]] void print() {
  if (!on) return;
  const std::scoped_lock held(all().mutex);
  if (all().threads.empty()) return;
  std::fprintf(stderr, "assay-omp: %zu threads\n%-16s %12s %12s %14s\n", all().threads.size(),
               "construct", "used", "waits", "waited, ms");
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::uint64_t uses = 0;
    std::uint64_t waits = 0;
    std::uint64_t nanoseconds = 0;
    for (const counts* each : all().threads) {
      uses += each->uses[i].value.load(memory_order_relaxed);
      waits += each->waits[i].value.load(memory_order_relaxed);
      nanoseconds += each->nanoseconds[i].value.load(memory_order_relaxed);
    }
    if (uses + waits == 0) continue;
    std::fprintf(stderr, "%-16s %12llu %12llu %14.3f\n", names[i],
                 static_cast<unsigned long long>(uses), static_cast<unsigned long long>(waits),
                 static_cast<double>(nanoseconds) / 1e6);
  }
  print_elisions();
  print_places(stderr);
}

}  // namespace

const bool on = process_settings().statistics;

void count_use(construct what) noexcept {
  of_this_thread().uses[static_cast<std::size_t>(what)].add(1);
}

void count_wait(construct what, const void* from, std::uint64_t nanoseconds) noexcept {
  counts& mine = of_this_thread();
  mine.waits[static_cast<std::size_t>(what)].add(1);
  mine.nanoseconds[static_cast<std::size_t>(what)].add(nanoseconds);
  if (from == nullptr) return;
  place& at = place_of(from);
  at.waits.fetch_add(1, memory_order_relaxed);
  at.waited_ns.fetch_add(nanoseconds, memory_order_relaxed);
}

void count_elision(elision_event what) noexcept {
  of_this_thread().elisions[static_cast<std::size_t>(what)].add(1);
}

}  // namespace assay::omp::statistics
