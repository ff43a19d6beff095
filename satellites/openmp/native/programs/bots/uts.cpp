// BOTS uts (Duran et al. 2009), after the Unbalanced Tree Search (Olivier et al. 2006): counts the
// nodes of a tree that nobody could divide fairly beforehand, a task for each node. A node has
// CHILDREN children with the probability PER_MILLION / 10^6, else none; the root has ROOT. Each
// node's random number follows from its parent's, by splitmix64 in place of the original's SHA-1.
//
//   uts [ROOT [CHILDREN [PER_MILLION [SEED]]]]      100 8 120000 1: some thousand nodes.
//                                                   2000 8 124875 9: three million

#include <vector>

#include "program.h"

namespace {

long children = 0;
double probability = 0;

struct node {
  std::uint64_t state;
  long children;
};

node child_of(const node& parent, long index) {
  program::random_source random(parent.state + static_cast<std::uint64_t>(index));
  const std::uint64_t state = random.next();
  return {.state = state, .children = random.fraction() < probability ? children : 0};
}

long count_below(const node& parent) {
  std::vector<long> counts(static_cast<std::size_t>(parent.children));
  for (long i = 0; i < parent.children; ++i) {
    long* const result = &counts[static_cast<std::size_t>(i)];
#pragma omp task firstprivate(i, result) shared(parent)
    *result = count_below(child_of(parent, i));
  }
#pragma omp taskwait
  long sum = 1;
  for (const long each : counts) sum += each;
  return sum;
}

// The same by one thread, which keeps the nodes that it has yet to look at.
long count_alone(const node& root) {
  std::vector<node> left = {root};
  long sum = 0;
  while (!left.empty()) {
    const node next = left.back();
    left.pop_back();
    ++sum;
    for (long i = 0; i < next.children; ++i) left.push_back(child_of(next, i));
  }
  return sum;
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const long root_children = given.next("ROOT", 100, 1, 1'000'000);
  children = given.next("CHILDREN", 8, 1, 1000);
  const long per_million = given.next("PER_MILLION", 120'000, 0, 1'000'000);
  const long seed = given.next("SEED", 1, 0, 1'000'000'000);
  given.end();
  if (children * per_million >= 1'000'000) {
    std::fprintf(stderr,
                 "%s: PER_MILLION: the tree would not end; give less than %ld with %ld children\n",
                 words[0], (1'000'000 + children - 1) / children, children);
    return 2;
  }
  probability = static_cast<double>(per_million) * 1e-6;
  program::random_source seeded(static_cast<std::uint64_t>(seed));
  const node root = {.state = seeded.next(), .children = root_children};
  long nodes = 0;
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
#pragma omp single
    nodes = count_below(root);
  });
  std::printf("nodes=%ld\n", nodes);
  return program::finish(nodes == count_alone(root), seconds);
}
