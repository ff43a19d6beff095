#include "assay/openmp/places.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <ranges>
#include <vector>

#include "assay/host/clock.h"
#include "assay/locks/transaction.h"
#include "assay/openmp/settings.h"

// Where this library begins, and where its code ends: by the linker. NOLINTBEGIN(*-identifier*)
extern "C" {
[[gnu::visibility("hidden")]] extern const char __ehdr_start;
[[gnu::visibility("hidden")]] extern const char etext;
}
// NOLINTEND(*-identifier*)

namespace assay::omp {
namespace {

constexpr std::size_t capacity = 512;
constexpr std::size_t probes = 8;

std::array<place, capacity + 1>& table() noexcept {
  static auto* const all =
      // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a program without memory ends
      new std::array<place, capacity + 1>;  // the last is for what finds no room
  return *all;
}

}  // namespace

std::string name_of(const void* address) {
  Dl_info found{};
  std::array<char, 32> text{};
  if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) {
    std::snprintf(text.data(), text.size(), "%p", address);
    return text.data();
  }
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(found.dli_fbase);
  std::snprintf(text.data(), text.size(), "+0x%zx", offset);
  const char* const slash = std::strrchr(found.dli_fname, '/');
  return std::string(slash == nullptr ? found.dli_fname : slash + 1) + text.data();
}

const void* in_program(const void* returns_to, const void* function) noexcept {
  const bool is_here = !std::less<>{}(returns_to, static_cast<const void*>(&__ehdr_start)) &&
                       std::less<>{}(returns_to, static_cast<const void*>(&etext));
  return is_here ? function : returns_to;
}

place& place_of(const void* address) noexcept {
  const std::size_t first =
      (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15U) >> 55U;
  for (std::size_t i = 0; i < probes; ++i) {
    place& at = table()[(first + i) % capacity];
    const void* seen = at.address.load(memory_order_relaxed);
    if (seen == address) return at;
    if (seen != nullptr) continue;
    const auto& wait_at = process_settings().wait_at;
    const bool waits_only = !wait_at.empty() && std::ranges::count(wait_at, name_of(address)) != 0;
    if (at.address.compare_exchange_strong(seen, address, memory_order_relaxed)) {
      at.waits_only.store(waits_only, memory_order_relaxed);
      return at;
    }
    if (seen == address) return at;
  }
  return table()[capacity];
}

bool may_run_ahead() noexcept {
  return process_settings().run_ahead && sync::transaction::available();
}

void record_arrival(place& at, std::uint32_t epoch) noexcept {
  // Each fourth epoch: to write the place and to read the clock takes as long as a tenth of a
  // barrier. Multiples of the golden ratio are spread evenly whichever epochs are the place's, so
  // that it records each fourth arrival there, too (Knuth 1998, section 6.4).
  constexpr std::uint32_t golden_ratio = 0x9e3779b9U;
  constexpr std::uint32_t each = 4;
  const std::uint32_t spread = epoch * golden_ratio;
  if (spread < ~0U / each) at.ways.record(each, host::now_ns());
}

bool pays_at_barrier(place& at) noexcept { return at.ways.choice() == 1 && pays_at_taskwait(at); }

bool pays_at_taskwait(place& at) noexcept {
  if (at.waits_only.load(memory_order_relaxed)) return false;
  constexpr std::uint64_t first = 64;
  constexpr std::uint64_t asked_again = 1024;
  constexpr std::uint64_t few = 4;
  const std::uint64_t attempts = at.attempts.load(memory_order_relaxed);
  return attempts < first || at.committed.load(memory_order_relaxed) * few >= attempts ||
         at.declined.fetch_add(1, memory_order_relaxed) % asked_again < few;
}

bool pays_to_look(place& at) noexcept {
  constexpr std::uint32_t enough = 4;
  constexpr std::uint32_t asked_again = 32;
  return at.in_vain.load(memory_order_relaxed) < enough ||
         at.in_vain.fetch_add(1, memory_order_relaxed) % asked_again == 0;
}

void record_look(place& at, bool ended) noexcept {
  if (!ended) {
    at.in_vain.fetch_add(1, memory_order_relaxed);
  } else if (at.in_vain.load(memory_order_relaxed) != 0) {
    at.in_vain.store(0, memory_order_relaxed);
  }
}

void print_places(std::FILE* to) {
  const auto number = [](const atomic<std::uint64_t>& count) {
    return static_cast<unsigned long long>(count.load(memory_order_relaxed));
  };
  const auto name = [](const place& at) {
    const void* const address = at.address.load(memory_order_relaxed);
    return address == nullptr ? std::string("other places") : name_of(address);
  };
  std::vector<const place*> used;
  for (const place& each : table()) {
    if (number(each.waits) + number(each.attempts) != 0) used.push_back(&each);
  }
  std::ranges::sort(used, std::ranges::greater{},
                    [&](const place* each) { return number(each->waited_ns); });
  const auto waited = [&](const place* each) { return number(each->waits) != 0; };
  if (std::ranges::any_of(used, waited)) {
    std::fprintf(to, "%-29s %12s %14s\n", "place", "waits", "waited, ms");
  }
  for (const place* const each : used | std::views::filter(waited)) {
    std::fprintf(to, "%-29s %12llu %14.3f\n", name(*each).c_str(), number(each->waits),
                 static_cast<double>(number(each->waited_ns)) / 1e6);
  }
  const auto ran_ahead = [&](const place* each) { return number(each->attempts) != 0; };
  if (std::ranges::any_of(used, ran_ahead)) {
    std::fprintf(to, "%-24s %8s %9s %9s %9s %9s %6s\n", "ran ahead at", "times", "committed",
                 "too early", "conflicts", "too large", "others");
  }
  for (const place* const each : used | std::views::filter(ran_ahead)) {
    std::fprintf(to, "%-24s %8llu %9llu %9llu %9llu %9llu %6llu\n", name(*each).c_str(),
                 number(each->attempts), number(each->committed), number(each->too_early),
                 number(each->conflicts), number(each->too_large), number(each->others));
  }
}

}  // namespace assay::omp
