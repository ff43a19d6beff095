// BOTS health (Duran et al. 2009): simulates Colombia's health system, a tree of villages with a
// hospital each. In every step a task for each village treats its patients; those whom it cannot
// treat go to the hospital one level up, whose list a lock protects. Patients carry their own
// random numbers, so that the result does not depend on the order of tasks.
//
//   health [LEVELS [CITIES [STEPS]]]      4 levels, 3 villages below each, 40 steps. BOTS's
//   large.input
//                                         has 5 or so levels, 10 villages below each, and 1000
//                                         steps

#include <omp.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "program.h"

namespace {

constexpr std::size_t inhabitants = 20;  // of a village
constexpr long assessing = 3;            // steps
constexpr long healing = 10;

struct patient {
  program::random_source random;
  std::uint64_t id;
  long left = 0;     // steps of what is being done
  long waited = 0;   // steps in all
  long treated = 0;  // stays in a hospital
};

struct village {
  std::vector<std::unique_ptr<village>> below;
  village* above = nullptr;
  std::size_t free_staff = 0;
  std::vector<patient*> healthy, waiting, assessed, inside;
  std::vector<patient*> arriving;  // from below; the lock's
  omp_lock_t lock{};
};

class country {
 public:
  country(long levels, long cities) : root_(build(levels, cities, nullptr)) {}

  void simulate(long steps) {
    for (long step = 0; step < steps; ++step) run(*root_);
  }

  // What became of all patients.
  [[nodiscard]] std::vector<long> summary() const {
    std::vector<long> all;
    for (const patient& each : patients_) {
      all.insert(all.end(), {each.waited, each.treated, each.left});
    }
    return all;
  }

  ~country() { destroy_locks(*root_); }
  country(const country&) = delete;
  country& operator=(const country&) = delete;

 private:
  std::unique_ptr<village> build(long levels, long cities, village* above) {
    auto built = std::make_unique<village>();
    omp_init_lock(&built->lock);
    built->above = above;
    built->free_staff = static_cast<std::size_t>(levels) + 1;
    for (std::size_t i = 0; i < inhabitants; ++i) {
      const std::uint64_t id = patients_.size();
      patients_.push_back({.random = program::random_source(id), .id = id});
      built->healthy.push_back(&patients_.back());
    }
    for (long i = 0; levels > 1 && i < cities; ++i) {
      built->below.push_back(build(levels - 1, cities, built.get()));
    }
    return built;
  }

  static void destroy_locks(village& at) {
    omp_destroy_lock(&at.lock);
    for (const auto& each : at.below) destroy_locks(*each);
  }

  static void run(village& at) {
    for (const auto& each : at.below) {
      village* const lower = each.get();
#pragma omp task firstprivate(lower)
      run(*lower);
    }
    treat_inside(at);
    assess(at);
    admit(at);
#pragma omp taskwait
    // By number, as the order in which they came is that of tasks.
    std::ranges::sort(at.arriving, {}, &patient::id);
    at.waiting.insert(at.waiting.end(), at.arriving.begin(), at.arriving.end());
    at.arriving.clear();
    fall_ill(at);
  }

  static void treat_inside(village& at) {
    std::erase_if(at.inside, [&](patient* each) {
      if (--each->left > 0) return false;
      ++at.free_staff;
      at.healthy.push_back(each);  // who was sent up stays there
      return true;
    });
  }

  static void assess(village& at) {
    std::erase_if(at.assessed, [&](patient* each) {
      if (--each->left > 0) return false;
      const std::uint64_t drawn = each->random.below(100);
      if (drawn < 30 && at.above != nullptr) {  // to the next hospital
        ++at.free_staff;
        omp_set_lock(&at.above->lock);
        at.above->arriving.push_back(each);
        omp_unset_lock(&at.above->lock);
      } else if (drawn < 60) {
        each->left = healing;
        ++each->treated;
        at.inside.push_back(each);
      } else {
        ++at.free_staff;
        at.healthy.push_back(each);
      }
      return true;
    });
  }

  static void admit(village& at) {
    std::erase_if(at.waiting, [&](patient* each) {
      if (at.free_staff == 0) {
        ++each->waited;
        return false;
      }
      --at.free_staff;
      each->left = assessing;
      at.assessed.push_back(each);
      return true;
    });
  }

  static void fall_ill(village& at) {
    std::erase_if(at.healthy, [&](patient* each) {
      if (each->random.below(100) >= 5) return false;
      at.waiting.push_back(each);
      return true;
    });
  }

  std::deque<patient> patients_;
  std::unique_ptr<village> root_;
};

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const long levels = given.next("LEVELS", 4, 1, 20);
  const long cities = given.next("CITIES", 3, 1, 100);
  const long steps = given.next("STEPS", 40, 1, 1'000'000);
  given.end();
  country together(levels, cities);
  country alone(levels, cities);
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    together.simulate(steps);
  });
  alone.simulate(steps);
  return program::finish(together.summary() == alone.summary(), seconds);
}
