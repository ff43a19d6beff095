// BOTS sort (Duran et al. 2009), which is Cilk's: a merge sort of four parts, whose merges split at
// the median of the longer side.
//
//   sort [ELEMENTS [ALONE]]      50000; parts of at most ALONE elements (2048) are sorted, and
//                                merged, by one task. The paper has 134217728

#include <algorithm>
#include <numeric>
#include <vector>

#include "program.h"

namespace {

using element = std::uint32_t;

long alone = 0;  // constant while threads sort

void merge(const element* a, const element* a_end, const element* b, const element* b_end,
           element* to) {
  if (a_end - a < b_end - b) {
    std::swap(a, b);
    std::swap(a_end, b_end);
  }
  if (b == b_end || (a_end - a) + (b_end - b) <= alone) {
    std::merge(a, a_end, b, b_end, to);
    return;
  }
  const element* const a_middle = a + (a_end - a) / 2;
  const element* const b_middle = std::lower_bound(b, b_end, *a_middle);
#pragma omp task firstprivate(a, a_middle, b, b_middle, to)
  merge(a, a_middle, b, b_middle, to);
#pragma omp task firstprivate(a_end, a_middle, b_end, b_middle, to)
  merge(a_middle, a_end, b_middle, b_end, to + (a_middle - a) + (b_middle - b));
#pragma omp taskwait
}

void sort(element* from, element* room, long size) {
  if (size <= alone) {
    std::sort(from, from + size);
    return;
  }
  const long part = size / 4;
#pragma omp task firstprivate(from, room, part)
  sort(from, room, part);
#pragma omp task firstprivate(from, room, part)
  sort(from + part, room + part, part);
#pragma omp task firstprivate(from, room, part)
  sort(from + 2 * part, room + 2 * part, part);
#pragma omp task firstprivate(from, room, part, size)
  sort(from + 3 * part, room + 3 * part, size - 3 * part);
#pragma omp taskwait
#pragma omp task firstprivate(from, room, part)
  merge(from, from + part, from + part, from + 2 * part, room);
#pragma omp task firstprivate(from, room, part, size)
  merge(from + 2 * part, from + 3 * part, from + 3 * part, from + size, room + 2 * part);
#pragma omp taskwait
  merge(room, room + 2 * part, room + 2 * part, room + size, from);
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const long size = given.next("ELEMENTS", 50'000, 1, 1L << 31);
  alone = given.next("ALONE", 2048, 4, 1L << 31);
  given.end();
  std::vector<element> elements(static_cast<std::size_t>(size));
  std::vector<element> room(elements.size());
  std::iota(elements.begin(), elements.end(), element{0});
  program::random_source random(1);
  for (std::size_t i = elements.size() - 1; i > 0; --i) {
    std::swap(elements[i], elements[random.below(i + 1)]);
  }
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    sort(elements.data(), room.data(), size);
  });
  bool right = true;  // as they were 0, 1, 2, ...
  for (std::size_t i = 0; i < elements.size(); ++i) right = right && elements[i] == i;
  return program::finish(right, seconds);
}
