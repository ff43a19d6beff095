#include "assay/openmp/places.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "assay/locks/transaction.h"
#include "assay/openmp/settings.h"

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

bool pays_at_barrier(const place& at) noexcept {
  return at.ways.choice() == 1 && !at.waits_only.load(memory_order_relaxed);
}

bool pays_at_taskwait(place& at) noexcept {
  if (at.waits_only.load(memory_order_relaxed)) return false;
  constexpr std::uint64_t first = 64;
  constexpr std::uint64_t asked_again = 1024;
  constexpr std::uint64_t few = 4;
  const std::uint64_t attempts = at.attempts.load(memory_order_relaxed);
  return attempts < first || at.committed.load(memory_order_relaxed) * few >= attempts ||
         at.declined.fetch_add(1, memory_order_relaxed) % asked_again < few;
}

void print_places(std::FILE* to) {
  for (const place& each : table()) {
    const std::uint64_t attempts = each.attempts.load(memory_order_relaxed);
    if (attempts == 0) continue;
    const void* const address = each.address.load(memory_order_relaxed);
    const auto number = [](const atomic<std::uint64_t>& count) {
      return static_cast<unsigned long long>(count.load(memory_order_relaxed));
    };
    std::fprintf(to,
                 "libassay-gomp: %s: ran ahead %llu times, committed %llu; too early %llu, "
                 "conflicts %llu, too large "
                 "%llu, others %llu\n",
                 address == nullptr ? "other places" : name_of(address).c_str(),
                 number(each.attempts), number(each.committed), number(each.too_early),
                 number(each.conflicts), number(each.too_large), number(each.others));
  }
}

}  // namespace assay::omp
