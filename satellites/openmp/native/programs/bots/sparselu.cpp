// BOTS sparselu (Duran et al. 2009): the LU factorisation of a sparse matrix of blocks. One thread
// makes a task for each block of a step, and waits twice a step.
//
//   sparselu [BLOCKS [SIZE]]      8 and 8: a matrix of BLOCKS x BLOCKS blocks of SIZE x SIZE
//   numbers.
//                                 The paper has 50 and 100

#include <cmath>
#include <vector>

#include "program.h"

namespace {

std::size_t blocks = 0;
std::size_t size = 0;  // of a block

using block = std::vector<double>;  // empty: all zeros
using matrix = std::vector<block>;

// Diagonal: its own LU factors, L with ones on its diagonal.
void factor(block& diagonal) {
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t i = k + 1; i < size; ++i) {
      diagonal[i * size + k] /= diagonal[k * size + k];
      for (std::size_t j = k + 1; j < size; ++j) {
        diagonal[i * size + j] -= diagonal[i * size + k] * diagonal[k * size + j];
      }
    }
  }
}

// right of the diagonal: by the inverse of its L
void forward(const block& diagonal, block& right) {
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t i = k + 1; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        right[i * size + j] -= diagonal[i * size + k] * right[k * size + j];
      }
    }
  }
}

// below the diagonal: by the inverse of its U
void divide(const block& diagonal, block& below) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      below[i * size + k] /= diagonal[k * size + k];
      for (std::size_t j = k + 1; j < size; ++j) {
        below[i * size + j] -= below[i * size + k] * diagonal[k * size + j];
      }
    }
  }
}

void subtract_product(const block& left, const block& above, block& from) {
  if (from.empty()) from.resize(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t j = 0; j < size; ++j) {
        from[i * size + j] -= left[i * size + k] * above[k * size + j];
      }
    }
  }
}

void factor_all(matrix& all) {
  const auto at = [&](std::size_t row, std::size_t column) { return &all[row * blocks + column]; };
  for (std::size_t k = 0; k < blocks; ++k) {
    block* const diagonal = at(k, k);
    factor(*diagonal);
    for (std::size_t i = k + 1; i < blocks; ++i) {
      if (block* const right = at(k, i); !right->empty()) {
#pragma omp task firstprivate(diagonal, right)
        forward(*diagonal, *right);
      }
      if (block* const below = at(i, k); !below->empty()) {
#pragma omp task firstprivate(diagonal, below)
        divide(*diagonal, *below);
      }
    }
#pragma omp taskwait
    for (std::size_t i = k + 1; i < blocks; ++i) {
      block* const left = at(i, k);
      if (left->empty()) continue;
      for (std::size_t j = k + 1; j < blocks; ++j) {
        block* const above = at(k, j);
        block* const from = at(i, j);
        if (above->empty()) continue;
#pragma omp task firstprivate(left, above, from)
        subtract_product(*left, *above, *from);
      }
    }
#pragma omp taskwait
  }
}

// Calls visit(row, column, number) for each number of blocks that are not empty.
template <class Visit>
void each_number(const matrix& all, const Visit& visit) {
  for (std::size_t place = 0; place < all.size(); ++place) {
    for (std::size_t i = 0; i < all[place].size(); ++i) {
      visit(place / blocks * size + i / size, place % blocks * size + i % size, all[place][i]);
    }
  }
}

// Whether L (U x) is what A x is, for an x drawn at random (after Freivalds 1979).
bool right(const matrix& before, const matrix& factors) {
  const std::size_t n = blocks * size;
  std::vector<double> x(n);
  std::vector<double> expected(n);
  std::vector<double> upper(n);
  program::random_source random(2);
  for (double& each : x) each = random.fraction();
  each_number(before, [&](auto row, auto column, double a) { expected[row] += a * x[column]; });
  each_number(factors, [&](auto row, auto column, double a) {
    if (row <= column) upper[row] += a * x[column];
  });
  std::vector<double> product = upper;
  each_number(factors, [&](auto row, auto column, double a) {
    if (row > column) product[row] += a * upper[column];
  });
  for (std::size_t i = 0; i < n; ++i) {
    if (!(std::abs(product[i] - expected[i]) < 1e-8 * static_cast<double>(n * n))) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  blocks = static_cast<std::size_t>(given.next("BLOCKS", 8, 1, 1000));
  size = static_cast<std::size_t>(given.next("SIZE", 8, 1, 1000));
  given.end();
  // As sparse as the original's: the three middle diagonals, and of the rest every second row and
  // column, of which some are empty. The diagonal dominates, as nothing is pivoted.
  matrix all(blocks * blocks);
  program::random_source random(1);
  for (std::size_t row = 0; row < blocks; ++row) {
    for (std::size_t column = 0; column < blocks; ++column) {
      const bool middle = row <= column + 1 && column <= row + 1;
      const bool far = row % 2 == 0 && column % 2 == 0 && (row < column ? row : column) % 3 == 0;
      if (!middle && !far) continue;
      block& fresh = all[row * blocks + column];
      fresh.resize(size * size);
      for (double& each : fresh) each = random.fraction() - 0.5;
      if (row != column) continue;
      for (std::size_t i = 0; i < size; ++i) {
        fresh[i * size + i] += static_cast<double>(blocks * size);
      }
    }
  }
  const matrix before = all;
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    factor_all(all);
  });
  return program::finish(right(before, all), seconds);
}
