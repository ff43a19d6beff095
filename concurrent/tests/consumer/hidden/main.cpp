#include <cstdio>
#include <thread>

#include "shared.h"

int main() {
  int failures = 0;
  const auto expect = [&failures](bool right, const char* what) {
    if (right) return;
    std::printf("wrong: %s\n", what);
    ++failures;
  };

  shared_map mine;
  shared_map& theirs = map_of_library();
  mine.insert(1, 1);
  theirs.insert(2, 2);
  expect(mine.contains(1) && !mine.contains(2), "the program's calls to its own map");
  expect(theirs.contains(2) && !theirs.contains(1), "the program's calls to the library's map");
  expect(library_has(mine, 1) && !library_has(mine, 2), "the library's calls to the program's map");
  expect(library_has(theirs, 2) && !library_has(theirs, 1), "the library's calls to its own map");

  // The library numbers its threads after the program has numbered some.
  for (int i = 0; i < 3; ++i) std::thread([] { shared_map().insert(1, 1); }).join();
  std::thread([&] {
    auto handle = mine.attach();
    expect(library_has(handle, 1), "the library's calls by the program's handle");
  }).join();

  expect(&domain_of_library() == &assay::reclaim::default_domain(), "one default domain");

  // Each frees what the other one has allocated.
  for (int round = 0; round < 3; ++round) {
    library_fills(mine);
    mine.clear();
    library_fills(theirs);
    library_clears(mine);
    for (int key = 0; key < 1000; ++key) mine.insert(key, key);
    library_clears(mine);
    theirs.clear();
  }
  expect(bytes_of_library() == assay::node_arena::used().bytes_in_use, "one arena");
  expect(!mine.broken_invariant() && !theirs.broken_invariant(), "both maps");

  assay::sync::elided_lock<> lock;
  lock.lock();
  library_unlocks(lock);
  return failures == 0 ? 0 : 1;
}
