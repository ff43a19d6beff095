// Fixtures that are wrong on purpose, and two that are not, for tests of what is said of them.

#include <stdexcept>
#include <vector>

#include "assay/fixture/fixture.h"

namespace {

using assay::fixture::registered;
using assay::fixture::setup;

class sound {
 public:
  explicit sound(const setup& given) : step_(static_cast<long>(given.number("step", 1))) {}
  long run(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      sum_ += step_;
      assay::fixture::clobber();
    }
    return static_cast<long>(size);
  }

 private:
  long step_;
  long sum_ = 0;
};
const registered<sound> is_sound{"sound", "adds", {10, 100, 1000}};

class reads_lines {
 public:
  explicit reads_lines(const setup& given) : lines_(given.size) {}
  void run() {
    for (const line& one : lines_) assay::fixture::keep(one.number);
  }

 private:
  struct alignas(64) line {
    long number = 0;
  };
  std::vector<line> lines_;
};
const registered<reads_lines> reader{"reads_lines", "reads a number of each cache line", {100}};

struct throws_in_constructor {
  throws_in_constructor() { throw std::runtime_error("there is no such file"); }
  void run() {}
};
const registered<throws_in_constructor> in_constructor{"throws_in_constructor", "cannot be made"};

struct throws_in_run {
  void run() {
    if (++calls == 1000) throw std::runtime_error("the queue is full");
  }
  int calls = 0;
};
const registered<throws_in_run> in_run{"throws_in_run", "fails in its thousandth call"};

struct throws_in_destructor {
  throws_in_destructor() = default;
  throws_in_destructor(const throws_in_destructor&) = delete;
  throws_in_destructor& operator=(const throws_in_destructor&) = delete;
  ~throws_in_destructor() noexcept(false) { throw std::runtime_error("the file is still open"); }
  void run() {}
};
const registered<throws_in_destructor> in_destructor{"throws_in_destructor",
                                                     "cannot be taken down"};

struct does_less_and_less {
  void set_up() {}
  int run() { return left > 0 ? left-- : 0; }
  int left = 50;
};
const registered<does_less_and_less> uneven{"does_less_and_less", "as its input is used up"};

}  // namespace
