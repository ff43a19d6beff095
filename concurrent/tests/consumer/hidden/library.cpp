#include "shared.h"

shared_map& map_of_library() {
  static shared_map map;
  return map;
}
bool library_has(shared_map& map, int key) { return map.contains(key); }
bool library_has(shared_map::handle& handle, int key) { return handle.contains(key); }
assay::reclaim::epochs& domain_of_library() { return assay::reclaim::default_domain(); }
void library_fills(shared_map& map) {
  for (int key = 0; key < 1000; ++key) map.insert(key, key);
}
void library_clears(shared_map& map) { map.clear(); }
std::size_t bytes_of_library() { return assay::node_arena::used().bytes_in_use; }
void library_unlocks(assay::sync::elided_lock<>& lock) { lock.unlock(); }
