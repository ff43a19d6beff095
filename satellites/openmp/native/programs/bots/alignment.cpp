// BOTS alignment (Duran et al. 2009): aligns all pairs of proteins, a task for each pair, made by
// all threads in a loop that they share. A pair's score is that of the best global alignment with
// affine gaps (Gotoh 1982). The sequences are random, in place of prot.100.aa.
//
//   alignment [SEQUENCES [LENGTH]]      10 and 60, from half to one and a half times as long. The
//                                       paper has 100 sequences, of a few hundred amino acids

#include <algorithm>
#include <vector>

#include "program.h"

namespace {

using sequence = std::vector<unsigned char>;

constexpr long gap_opens = 10;
constexpr long gap_extends = 1;

// What two amino acids have in common: most if they are the same, more if they are akin.
long likeness(unsigned char a, unsigned char b) {
  if (a == b) return 5;
  return a / 4 == b / 4 ? 1 : -2;
}

// Row by row: `best` of the alignments that end in a column, and `above` of those of them that end
// in a gap in `b`. `left` is of those that end in a gap in `a`.
long align(const sequence& a, const sequence& b) {
  constexpr long never = -1'000'000'000;
  std::vector<long> best(b.size() + 1);
  std::vector<long> above(b.size() + 1, never);
  for (std::size_t j = 1; j <= b.size(); ++j) {
    best[j] = -gap_opens - gap_extends * static_cast<long>(j);
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    long diagonal = best[0];
    long left = never;
    best[0] = -gap_opens - gap_extends * static_cast<long>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      above[j] = std::max(above[j], best[j] - gap_opens) - gap_extends;
      left = std::max(left, best[j - 1] - gap_opens) - gap_extends;
      const long matched = diagonal + likeness(a[i - 1], b[j - 1]);
      diagonal = best[j];
      best[j] = std::max({matched, above[j], left});
    }
  }
  return best.back();
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const auto sequences = static_cast<std::size_t>(given.next("SEQUENCES", 10, 1, 100'000));
  const auto length = static_cast<std::uint64_t>(given.next("LENGTH", 60, 1, 1'000'000));
  given.end();
  program::random_source random(1);
  std::vector<sequence> proteins(sequences);
  for (sequence& each : proteins) {
    each.resize(length / 2 + 1 + random.below(length));
    for (unsigned char& acid : each) acid = static_cast<unsigned char>(random.below(20));
  }
  std::vector<long> scores(sequences * sequences);
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < sequences; ++i) {
      for (std::size_t j = i + 1; j < sequences; ++j) {
#pragma omp task firstprivate(i, j) shared(proteins, scores)
        scores[i * sequences + j] = align(proteins[i], proteins[j]);
      }
    }
  });
  bool right = true;
  for (std::size_t i = 0; i < sequences; ++i) {
    for (std::size_t j = i + 1; j < sequences; ++j) {
      right = right && scores[i * sequences + j] == align(proteins[i], proteins[j]);
    }
  }
  return program::finish(right, seconds);
}
