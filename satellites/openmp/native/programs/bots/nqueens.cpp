// BOTS nqueens (Duran et al. 2009): all ways to place N queens that do not attack each other. Each
// task tries one column of a row on its own copy of the board.
//
//   nqueens [N [DEPTH]]      8; tasks down to row DEPTH (0: all). The paper has 13, BOTS depth 3

#include <array>

#include "program.h"

namespace {

using board = std::array<unsigned char, 20>;  // the column of each row's queen

bool safe(const board& placed, long row, long column) {
  for (long above = 0; above < row; ++above) {
    const long other = placed[static_cast<std::size_t>(above)];
    if (other == column || other - column == row - above || column - other == row - above) {
      return false;
    }
  }
  return true;
}

long alone(board& placed, long row, long n) {
  if (row == n) return 1;
  long solutions = 0;
  for (long column = 0; column < n; ++column) {
    if (!safe(placed, row, column)) continue;
    placed[static_cast<std::size_t>(row)] = static_cast<unsigned char>(column);
    solutions += alone(placed, row + 1, n);
  }
  return solutions;
}

long queens(const board& placed, long row, long n, long depth) {
  if (row == n) return 1;
  if (row == depth) {
    board copy = placed;
    return alone(copy, row, n);
  }
  std::array<long, 20> solutions{};
  for (long column = 0; column < n; ++column) {
#pragma omp task shared(placed, solutions) firstprivate(row, column, n, depth)
    if (safe(placed, row, column)) {
      board copy = placed;
      copy[static_cast<std::size_t>(row)] = static_cast<unsigned char>(column);
      solutions[static_cast<std::size_t>(column)] = queens(copy, row + 1, n, depth);
    }
  }
#pragma omp taskwait
  long sum = 0;
  for (const long each : solutions) sum += each;
  return sum;
}

constexpr std::array<long, 17> known = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                        352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const long n = given.next("N", 8, 1, static_cast<long>(known.size()) - 1);
  const long depth = given.next("DEPTH", 0, 0, static_cast<long>(known.size()));
  given.end();
  long solutions = 0;
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    solutions = queens({}, 0, n, depth == 0 ? n : depth);
  });
  return program::finish(solutions == known[static_cast<std::size_t>(n)], seconds);
}
