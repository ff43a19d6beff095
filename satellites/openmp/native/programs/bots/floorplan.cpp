// BOTS floorplan (Duran et al. 2009): places cells of several possible shapes side by side so that
// the rectangle around them is as small as can be. A task for each place of each shape of the next
// cell has its own copy of the board; branches that are already too large are cut off. How much
// work there is depends on how soon a good solution is found, and so on the order of tasks.
//
// Each cell touches the one before it, on its right or below it; the cells are random.
//
//   floorplan [CELLS [DEPTH [SEED]]]      5; tasks for the first DEPTH cells (0: all). The paper
//   has
//                                         20, BOTS depth 5

#include <algorithm>
#include <array>
#include <vector>

#include "program.h"

namespace {

constexpr int side = 64;  // of the board

struct shape {
  int height, width;
};
using cell = std::vector<shape>;  // its possible shapes

struct rectangle {
  int top, left, height, width;
};

struct board {
  std::array<std::uint64_t, side> rows{};  // a bit for each place that is taken
  int height = 0, width = 0;               // of all cells so far

  [[nodiscard]] int area() const { return height * width; }

  // False if it does not fit.
  bool lay(const rectangle& where) {
    if (where.top < 0 || where.left < 0) return false;
    if (where.top + where.height > side || where.left + where.width > side) return false;
    const std::uint64_t bits = ((std::uint64_t{1} << where.width) - 1) << where.left;
    for (int row = where.top; row < where.top + where.height; ++row) {
      std::uint64_t& taken = rows[static_cast<std::size_t>(row)];
      if ((taken & bits) != 0) return false;
      taken |= bits;
    }
    height = std::max(height, where.top + where.height);
    width = std::max(width, where.left + where.width);
    return true;
  }
};

struct search {
  std::vector<cell> cells;
  std::size_t depth;
  int smallest = side * side + 1;

  // Goes on where `where` is free and the area is less than that of the best solution so far.
  void try_at(const board& before, const rectangle& where, std::size_t next) {
    board after = before;
    if (!after.lay(where)) return;
    int best = 0;
#pragma omp atomic read
    best = smallest;
    if (after.area() >= best) return;
    if (next < cells.size()) {
      place(after, where, next);
      return;
    }
#pragma omp critical
    if (after.area() < smallest) {
#pragma omp atomic write
      smallest = after.area();
    }
  }

  void place(const board& before, const rectangle& last, std::size_t index) {
    const auto try_with = [&](const rectangle& where) {
      if (index < depth) {
#pragma omp task firstprivate(where, index) shared(before)
        try_at(before, where, index + 1);
      } else {
        try_at(before, where, index + 1);
      }
    };
    for (const shape& as : cells[index]) {
      for (int top = last.top - as.height + 1; top < last.top + last.height; ++top) {
        try_with({top, last.left + last.width, as.height, as.width});
      }
      for (int left = last.left - as.width + 1; left < last.left + last.width; ++left) {
        try_with({last.top + last.height, left, as.height, as.width});
      }
    }
#pragma omp taskwait
  }

  int run() {
    const board before;
    for (const shape& as : cells.front()) {
      try_at(before, {0, 0, as.height, as.width}, 1);
    }
    return smallest;
  }
};

std::vector<cell> random_cells(std::size_t count, std::uint64_t seed) {
  program::random_source random(seed);
  std::vector<cell> cells(count);
  for (cell& each : cells) {
    const int area = 2 + static_cast<int>(random.below(11));
    for (int height = 1; height <= area; ++height) {
      if (area % height == 0 && height <= 6 && area / height <= 6) {
        each.push_back({.height = height, .width = area / height});
      }
    }
    if (each.empty()) each.push_back({.height = 1, .width = area});
  }
  return cells;
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const auto cells = static_cast<std::size_t>(given.next("CELLS", 5, 2, 20));
  const auto depth = static_cast<std::size_t>(given.next("DEPTH", 0, 0, 20));
  const auto seed = static_cast<std::uint64_t>(given.next("SEED", 1, 0, 1'000'000'000));
  given.end();
  search together{.cells = random_cells(cells, seed), .depth = depth == 0 ? cells : depth};
  search alone = together;
  alone.depth = 0;  // without tasks
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    together.run();
  });
  std::printf("area=%d\n", together.smallest);
  return program::finish(together.smallest == alone.run(), seconds);
}
