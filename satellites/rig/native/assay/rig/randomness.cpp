#include "assay/rig/randomness.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <thread>

#include "assay/random/decision.h"

namespace assay::rig {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Relaxed: a number alone, set before the threads begin that read it.
std::atomic<double> chosen{0};

// The medians: 16 ns for each time that a thread passes a point, which is little.
constexpr double usual_probability = 1.0 / 64;
constexpr double usual_length_ns = 1000;

nanoseconds draw_length(random::decision& draws, double c) {
  constexpr double most = nanoseconds(longest_stop).count();
  return nanoseconds(static_cast<std::int64_t>(std::min(draws.noisy(usual_length_ns, c), most)));
}

// All threads' processor time.
nanoseconds used_by_process() {
  struct timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

}  // namespace

void set_randomness(double c) {
  static_cast<void>(random::decision::none().noisy(1, c));  // refuses it
  chosen.store(c, std::memory_order_relaxed);
}

double randomness() { return chosen.load(std::memory_order_relaxed); }

habit draw_habit(std::uint64_t seed, double c) {
  random::decision draws(seed);
  const double probability = std::min(draws.noisy(usual_probability, c), 1.0);
  return {.probability = probability, .length = draw_length(draws, c)};
}

nanoseconds draw_stop(std::uint64_t seed, double c) {
  random::decision draws(seed);
  return draw_length(draws, c);
}

bool stopper::stop_for(nanoseconds length) {
  const auto begin = steady_clock::now();
  left_ = std::min<nanoseconds>(left_ + (begin - seen_) / 8, longest_stop);
  seen_ = begin;
  if (left_ < length) return false;
  // What is shorter than a sleep takes to begin and to end is spent on the processor.
  constexpr nanoseconds shortest_sleep = 50us;
  auto now = begin;
  if (length < shortest_sleep) {
    while (now - begin < length) now = steady_clock::now();
  } else {
    const nanoseconds enough = used_by_process() + length;
    do {
      std::this_thread::sleep_for(std::max(length / 8, shortest_sleep));
      now = steady_clock::now();
    } while (used_by_process() < enough && now - begin < 4 * length);
  }
  left_ -= now - begin;
  return true;
}

habits::habits(std::uint64_t seed, double c) : draw_(seed), c_(c) { begin_spell(); }

void habits::begin_spell() {
  spell_ = draw_();
  passes_left_ = std::uint64_t{1} << draw_() % 15;
}

void habits::pass(const char* point) {
  if (passes_left_-- == 0) begin_spell();
  known& here = known_[point];
  if (here.spell != spell_) {
    const habit drawn = draw_habit(random::seed_of_decision(spell_, point), c_);
    here.spell = spell_;
    here.stops_below = static_cast<std::uint64_t>(std::ldexp(drawn.probability, 63));
    here.length = drawn.length;
  }
  if (draw_() >> 1 < here.stops_below) here.stops.stop_for(here.length);
}

}  // namespace assay::rig
