// Counts the operations that a generator draws, and uses the concept of a map.

#include <assay/maps/concept.h>
#include <assay/random/permutation.h>
#include <assay/workload/generator.h>

#include <cstdint>
#include <cstdio>

static_assert(!assay::concurrent_map<int, std::uint64_t, std::uint64_t>);

int main() {
  using namespace assay::workload;
  const key_space space(1000, key_layout::sparse, 1);
  operation_batch batch;
  make_generator(space, {.mix = {0, 0, 100}}, 42)->fill(batch, 100);
  int finds = 0;
  for (std::size_t i = 0; i < batch.size; ++i) {
    finds += batch.kinds[i] == operation::find && space.contains(batch.keys[i]);
  }
  const assay::random::permutation order(1, 0);
  std::printf("%d finds\n", finds);
  return finds == 100 && order(0) == 0 ? 0 : 1;
}
