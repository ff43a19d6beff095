#include "shared.h"

shared_map& map_of_library() {
  static shared_map map;
  return map;
}
bool library_has(shared_map& map, int key) { return map.contains(key); }
bool library_has(shared_map::handle& handle, int key) { return handle.contains(key); }
assay::reclaim::epochs& domain_of_library() { return assay::reclaim::default_domain(); }
void library_unlocks(assay::sync::elided_lock<>& lock) { lock.unlock(); }
