// The loop that one would write by hand to measure `noop`: the trial loop is judged against it
// (`make bench`).
//
// It draws from one lane of the same engine, with the same arithmetic, and calls the same opaque
// functions, but each operation is drawn just before it is performed, nothing is validated but a
// sum of the keys, and there is only this map, this distribution and one thread. It reads a trial
// request and prints a trial result.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "assay/host/clock.h"
#include "assay/host/placement.h"
#include "assay/input/message.h"
#include "assay/random/xoshiro256pp.h"
#include "assay/trial/request.h"
#include "assay/workload/generator.h"
#include "assay/workload/mix.h"
#include "noop.h"

namespace {

struct measurement {
  std::uint64_t operations;
  std::uint64_t ns;
};

measurement measure(const assay::trial::request& request) {
  using assay::host::now_ns;
  using assay::workload::operation;
  constexpr std::uint64_t between_looks_at_the_clock = 1 << 16;

  assay::random::xoshiro256pp engine(request.seed);
  const assay::workload::uniform distribution(request.key_range);
  const assay::workload::operation_chooser choose(request.roles[0].work.mix);
  noop map;
  noop::handle handle = map.attach();
  std::uint64_t sum = 0;
  std::uint64_t operations = 0;
  const std::uint64_t start = now_ns();
  const std::uint64_t deadline =
      start + static_cast<std::uint64_t>(std::chrono::nanoseconds(request.duration).count());
  std::uint64_t now = start;
  while (now < deadline) {
    for (std::uint64_t i = 0; i < between_looks_at_the_clock; ++i) {
      const auto draw = distribution(engine());
      const std::uint64_t key = draw.index + 1;
      switch (choose.of_three(draw.fraction >> assay::workload::operation_chooser::fine_shift)) {
        case operation::insert:
          if (handle.insert(key, key)) sum += key;
          break;
        case operation::erase:
          if (handle.erase(key)) sum -= key;
          break;
        default:
          handle.find(key);
          break;
      }
    }
    operations += between_looks_at_the_clock;
    now = now_ns();
  }
  asm volatile("" ::"r"(sum));
  return {operations, now - start};
}

}  // namespace

// Not by trial::exchange(): gcc 12 keeps all that the loop needs in registers where it inlines it
// into main(), and not where it inlines it elsewhere.
int main() try {
  std::ostringstream text;
  text << std::cin.rdbuf();
  const auto request = assay::trial::parse_request(text.str());
  if (request.threads() != 1) throw assay::bad_request("threads: this loop has 1");
  if (request.keys != assay::workload::key_layout::dense) {
    throw assay::bad_request("keys: this loop draws dense ones");
  }
  if (!request.operations.empty()) {
    throw assay::bad_request("operations: this loop ends by time alone");
  }
  assay::host::placement(request.pinning, 1, request.perturbation.placement).bind_this_thread(0);
  const measurement measured = measure(request);
  const double throughput =
      static_cast<double>(measured.operations) * 1e9 / static_cast<double>(measured.ns);
  std::cout << nlohmann::json{{"protocol", 1},
                              {"status", "valid"},
                              {"metrics", {{"throughput", throughput}}}}
            << '\n'
            << std::flush;
  return std::cout ? 0 : 1;
} catch (const assay::bad_request& error) {
  assay::input::print_error(error.what());
  return 2;
} catch (const std::exception& error) {
  assay::input::print_error(error.what());
  return 1;
}
