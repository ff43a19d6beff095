// How a map of libcds that has no iterators is walked: by searches alone.

#ifndef ASSAY_SUBJECTS_CDS_WALK_H_
#define ASSAY_SUBJECTS_CDS_WALK_H_

// What comes right after a key, or before all keys, and the least key met that is greater.
template <class K>
struct successor_search {
  const K* last;
  mutable const K* next = nullptr;
};

template <class K>
struct meets_successor {
  bool operator()(const successor_search<K>& search, const K& key) const {
    if (search.last != nullptr && !(*search.last < key)) return false;
    search.next = &key;
    return true;
  }
  // Asked only if the other was false.
  bool operator()(const K&, const successor_search<K>&) const { return true; }
};

// A search compares what it looks for with the key of each node on its way. What this walk looks
// for comes right after the last key that it met, and equals none; so the last key on the way that
// is greater is the next one in the tree. Keys of erased elements may still be there to lead the
// way; an ordinary search for the key tells. At rest, when nodes stay where they are. Calls `find`
// with each key that is met.
template <class K, class Map, class Find>
void walk_by_searches(Map& map, const Find& find) {
  for (successor_search<K> search{nullptr};; search = {search.next}) {
    map.contains(search, meets_successor<K>{});
    if (search.next == nullptr) return;
    find(*search.next);
  }
}

#endif  // ASSAY_SUBJECTS_CDS_WALK_H_
