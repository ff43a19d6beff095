// BOTS strassen (Duran et al. 2009): the product of two matrices by Strassen's seven products
// (1969), a task for each, and one task wait before they are added up.
//
//   strassen [N [ALONE]]      128; matrices of at most ALONE x ALONE (64) are multiplied as usual.
//                             N is a power of 2; the paper has 4096

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "program.h"

namespace {

long alone = 0;

// A square part of a matrix whose rows are `width` numbers apart.
struct part {
  double* first;
  long width;

  [[nodiscard]] part quarter(long half, long down, long across) const {
    return {.first = first + down * half * width + across * half, .width = width};
  }
  double* operator[](long row) const { return first + row * width; }
};

class square {
 public:
  explicit square(long n) : numbers_(static_cast<std::size_t>(n * n)), n_(n) {}
  [[nodiscard]] part whole() { return {.first = numbers_.data(), .width = n_}; }

 private:
  std::vector<double> numbers_;
  long n_;
};

// to = a + sign * b
void add(part a, double sign, part b, part to, long n) {
  for (long i = 0; i < n; ++i) {
    for (long j = 0; j < n; ++j) to[i][j] = a[i][j] + sign * b[i][j];
  }
}

void multiply_alone(part a, part b, part to, long n) {
  for (long i = 0; i < n; ++i) {
    for (long j = 0; j < n; ++j) to[i][j] = 0;
    for (long k = 0; k < n; ++k) {
      for (long j = 0; j < n; ++j) to[i][j] += a[i][k] * b[k][j];
    }
  }
}

void multiply(part a, part b, part to, long n);

struct operand {
  int row, column;  // a quarter
  double sign = 0;  // 0: alone
  int other_row = 0, other_column = 0;
};

// One of the seven products, of sums of quarters.
void product(part a, const operand& left, part b, const operand& right, part to, long half) {
  square left_sum(left.sign == 0 ? 0 : half);
  square right_sum(right.sign == 0 ? 0 : half);
  const auto sum = [half](part of, const operand& which, square& room) {
    const part first = of.quarter(half, which.row, which.column);
    if (which.sign == 0) return first;
    add(first, which.sign, of.quarter(half, which.other_row, which.other_column), room.whole(),
        half);
    return room.whole();
  };
  multiply(sum(a, left, left_sum), sum(b, right, right_sum), to, half);
}

constexpr std::array<std::array<operand, 2>, 7> products = {{
    {{{0, 0, 1, 1, 1}, {0, 0, 1, 1, 1}}},   // (a11 + a22) (b11 + b22)
    {{{1, 0, 1, 1, 1}, {0, 0}}},            // (a21 + a22) b11
    {{{0, 0}, {0, 1, -1, 1, 1}}},           // a11 (b12 - b22)
    {{{1, 1}, {1, 0, -1, 0, 0}}},           // a22 (b21 - b11)
    {{{0, 0, 1, 0, 1}, {1, 1}}},            // (a11 + a12) b22
    {{{1, 0, -1, 0, 0}, {0, 0, 1, 0, 1}}},  // (a21 - a11) (b11 + b12)
    {{{0, 1, -1, 1, 1}, {1, 0, 1, 1, 1}}},  // (a12 - a22) (b21 + b22)
}};

void multiply(part a, part b, part to, long n) {
  if (n <= alone) {
    multiply_alone(a, b, to, n);
    return;
  }
  const long half = n / 2;
  std::vector<square> results(7, square(half));
  for (std::size_t i = 0; i < 7; ++i) {
    const part result = results[i].whole();
#pragma omp task firstprivate(a, b, result, i, half)
    product(a, products[i][0], b, products[i][1], result, half);
  }
#pragma omp taskwait
  std::array<part, 7> m{};
  for (std::size_t i = 0; i < 7; ++i) m[i] = results[i].whole();
  for (long i = 0; i < half; ++i) {
    for (long j = 0; j < half; ++j) {
      to[i][j] = m[0][i][j] + m[3][i][j] - m[4][i][j] + m[6][i][j];
      to[i][half + j] = m[2][i][j] + m[4][i][j];
      to[half + i][j] = m[1][i][j] + m[3][i][j];
      to[half + i][half + j] = m[0][i][j] - m[1][i][j] + m[2][i][j] + m[5][i][j];
    }
  }
}

std::vector<double> times(part matrix, const std::vector<double>& x) {
  const long n = static_cast<long>(x.size());
  std::vector<double> result(x.size());
  for (long i = 0; i < n; ++i) {
    for (long j = 0; j < n; ++j) {
      result[static_cast<std::size_t>(i)] += matrix[i][j] * x[static_cast<std::size_t>(j)];
    }
  }
  return result;
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const long n = given.next("N", 128, 1, 1L << 15);
  alone = given.next("ALONE", 64, 1, 1L << 15);
  given.end();
  if (!std::has_single_bit(static_cast<unsigned long>(n))) {
    std::fprintf(stderr, "%s: N: give a power of 2, such as 128\n", words[0]);
    return 2;
  }
  square a(n);
  square b(n);
  square result(n);
  program::random_source random(1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (long i = 0; i < n; ++i) {
    x[static_cast<std::size_t>(i)] = random.fraction() - 0.5;
    for (long j = 0; j < n; ++j) {
      a.whole()[i][j] = random.fraction() - 0.5;
      b.whole()[i][j] = random.fraction() - 0.5;
    }
  }
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    multiply(a.whole(), b.whole(), result.whole(), n);
  });
  // (A B) x is A (B x), for an x drawn at random (Freivalds 1979).
  const std::vector<double> expected = times(a.whole(), times(b.whole(), x));
  const std::vector<double> product_x = times(result.whole(), x);
  bool right = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    right = right && std::abs(product_x[i] - expected[i]) < 1e-9 * static_cast<double>(n * n);
  }
  return program::finish(right, seconds);
}
