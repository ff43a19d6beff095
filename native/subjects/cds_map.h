// What the maps of libcds have in common: the library must be initialised before any of them is
// built, the means of reclaiming memory built before the map and destroyed after it, and every
// thread that touches a map attached to the library.

#ifndef ASSAY_SUBJECTS_CDS_MAP_H_
#define ASSAY_SUBJECTS_CDS_MAP_H_

#include <cds/gc/hp.h>
#include <cds/init.h>
#include <cds/threading/model.h>
#include <cds/urcu/general_buffered.h>

#include <optional>
#include <utility>

#include "assay/maps/concept.h"
#include "assay/subject/subject.h"

// Buffered, because of libcds's other kinds of user-space RCU one waits for all readers at every
// erase, one frees in a thread of its own, which would take a processor from the measured threads,
// and one interrupts them by signals.
using cds_rcu = cds::urcu::gc<cds::urcu::general_buffered<>>;

struct cds_library {
  cds_library() { cds::Initialize(); }
  ~cds_library() { cds::Terminate(); }
  cds_library(const cds_library&) = delete;
  cds_library& operator=(const cds_library&) = delete;
};

// Attaches the thread that built it, which may already be attached.
struct cds_thread {
  cds_thread() { cds::threading::Manager::attachThread(); }
  ~cds_thread() { cds::threading::Manager::detachThread(); }
  cds_thread(const cds_thread&) = delete;
  cds_thread& operator=(const cds_thread&) = delete;
};

template <class Map, class Collector>
struct cds_collector;

template <class Map>
struct cds_collector<Map, cds_rcu> {
  explicit cds_collector(const assay::subject::map_hints&) {}
  cds_rcu collector;
};

template <class Map>
struct cds_collector<Map, cds::gc::HP> {
  // One more thread, as the one that builds the map also walks and destroys it.
  explicit cds_collector(const assay::subject::map_hints& hints)
      : collector(Map::c_nHazardPtrCount, hints.threads + 1) {}
  cds::gc::HP collector;
};

template <class Map>
class cds_map {
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;

 public:
  // The library has one collector in a process: it ends with the first map that does.
  static constexpr bool one_at_a_time = true;

  class handle {
   public:
    explicit handle(Map& map) : map_(map) {}

    bool insert(assay::parameter<K> key, assay::parameter<V> value) {
      return map_.insert(key, value);
    }
    bool erase(assay::parameter<K> key) { return map_.erase(key); }
    [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
      std::optional<V> value;
      map_.find(key, [&value](const auto& found) { value = found.second; });
      return value;
    }

   protected:
    Map& map() { return map_; }

   private:
    cds_thread attached_;
    Map& map_;
  };

  // `arguments` are those of libcds's map. The thread that builds the map also destroys it.
  template <class... Arguments>
  explicit cds_map(const assay::subject::map_hints& hints, Arguments... arguments)
      : collector_(hints), map_(arguments...) {}

  handle attach() { return handle(map_); }

  template <class Visit>
  void for_each(Visit&& visit) {
    const cds_thread attached;
    for (auto element = map_.begin(); element != map_.end(); ++element) {
      visit(element->first, element->second);
    }
  }

 protected:
  Map& map() { return map_; }

 private:
  cds_library library_;
  cds_collector<Map, typename Map::gc> collector_;
  cds_thread attached_;
  Map map_;
};

// For maps of Michael's lists, whose erase leaves a marked node linked when others have changed
// what is before it, and whose iterators do not look at marks (cds/intrusive/impl/michael_list.h).
// A search does, and unlinks the marked nodes that it meets.
template <class Map>
class cds_list_map : public cds_map<Map> {
 public:
  using cds_map<Map>::cds_map;

  template <class Visit>
  void for_each(Visit&& visit) {
    cds_map<Map>::for_each([&](const auto& key, const auto& value) {
      if (this->map().contains(key)) visit(key, value);
    });
  }
};

#endif  // ASSAY_SUBJECTS_CDS_MAP_H_
