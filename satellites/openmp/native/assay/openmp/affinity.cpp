#include "assay/openmp/affinity.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

namespace assay::omp {
namespace {

// A set of processors, of any size: large machines have more of them than a cpu_set_t holds.
class processor_set {
 public:
  explicit processor_set(unsigned capacity)
      : set_(CPU_ALLOC(capacity)), bytes_(CPU_ALLOC_SIZE(capacity)) {
    CPU_ZERO_S(bytes_, set_.get());
  }
  [[nodiscard]] bool read() noexcept { return sched_getaffinity(0, bytes_, set_.get()) == 0; }
  [[nodiscard]] bool write() const noexcept {
    return sched_setaffinity(0, bytes_, set_.get()) == 0;
  }
  void add(unsigned processor) noexcept { CPU_SET_S(processor, bytes_, set_.get()); }
  [[nodiscard]] bool has(unsigned processor) const noexcept {
    return CPU_ISSET_S(processor, bytes_, set_.get()) != 0;
  }

 private:
  struct release {
    void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
  };
  std::unique_ptr<cpu_set_t, release> set_;
  std::size_t bytes_;
};

struct forget_topology {
  void operator()(hwloc_topology* all) const noexcept { hwloc_topology_destroy(all); }
};

// The objects of a kind, in hwloc's order, which is that of nearness.
std::vector<processor_list> objects(place_kind kind) {
  hwloc_topology_t loaded = nullptr;
  if (hwloc_topology_init(&loaded) != 0) return {};
  const std::unique_ptr<hwloc_topology, forget_topology> all(loaded);
  if (hwloc_topology_load(all.get()) != 0) return {};
  int depth = HWLOC_TYPE_DEPTH_UNKNOWN;
  switch (kind) {
    case place_kind::cores:
      depth = hwloc_get_type_or_below_depth(all.get(), HWLOC_OBJ_CORE);
      break;
    case place_kind::last_level_caches:
      for (const hwloc_obj_type_t type :
           {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
        depth = hwloc_get_type_depth(all.get(), type);
        if (depth >= 0) break;
      }
      break;
    case place_kind::numa_domains:
      depth = hwloc_get_type_depth(all.get(), HWLOC_OBJ_NUMANODE);
      break;
    case place_kind::sockets:
      depth = hwloc_get_type_depth(all.get(), HWLOC_OBJ_PACKAGE);
      break;
    default:
      depth = hwloc_get_type_depth(all.get(), HWLOC_OBJ_PU);
  }
  std::vector<processor_list> found;
  if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return found;
  for (unsigned i = 0; i < hwloc_get_nbobjs_by_depth(all.get(), depth); ++i) {
    const hwloc_obj* const object = hwloc_get_obj_by_depth(all.get(), depth, i);
    processor_list processors;
    for (int each = hwloc_bitmap_first(object->cpuset); each >= 0;
         each = hwloc_bitmap_next(object->cpuset, each)) {
      processors.push_back(static_cast<unsigned>(each));
    }
    found.push_back(std::move(processors));
  }
  return found;
}

std::vector<processor_list> find_places() {
  const place_request& wanted = process_settings().places;
  if (wanted.kind == place_kind::none) return {};
  const processor_list usable = usable_processors();
  std::vector<processor_list> found;
  for (processor_list& place :
       wanted.kind == place_kind::listed ? std::vector(wanted.listed) : objects(wanted.kind)) {
    if (wanted.count != 0 && found.size() == wanted.count) break;
    std::ranges::sort(place);
    processor_list here;
    std::ranges::set_intersection(place, usable, std::back_inserter(here));
    if (!here.empty()) {
      found.push_back(std::move(here));
    } else if (wanted.kind == place_kind::listed) {
      std::fprintf(stderr,
                   "libassay-gomp: OMP_PLACES: the process may use no processor of the place that "
                   "begins with %u: the place is left out\n",
                   place.empty() ? 0 : place.front());
    }
  }
  if (found.empty()) {
    std::fputs("libassay-gomp: OMP_PLACES: no such places are here: threads are not bound\n",
               stderr);
  }
  return found;
}

}  // namespace

processor_list usable_processors() {
  processor_list usable;
  constexpr unsigned most = 1U << 20U;
  for (unsigned capacity = CPU_SETSIZE; capacity <= most; capacity *= 2) {
    processor_set set(capacity);
    if (!set.read()) continue;  // the machine has more
    for (unsigned each = 0; each < capacity; ++each) {
      if (set.has(each)) usable.push_back(each);
    }
    break;
  }
  if (usable.empty()) usable.push_back(0);
  return usable;
}

const std::vector<processor_list>& places() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a program without memory ends
  static const auto* const once = new std::vector<processor_list>(find_places());
  return *once;
}

void assign_seats(std::span<seat> seats, unsigned bind) noexcept {
  const seat master = seats.front();
  const auto threads = static_cast<unsigned>(seats.size());
  const unsigned offset = master.place - master.first;
  const unsigned count = master.count;
  // The first `larger` of `into` parts of a whole have one more than the others.
  struct division {
    unsigned size, larger;
    [[nodiscard]] unsigned begin(unsigned part) const {
      return part * size + std::min(part, larger);
    }
    [[nodiscard]] unsigned extent(unsigned part) const { return size + (part < larger ? 1 : 0); }
  };
  if (bind == binding::primary) {
    std::ranges::fill(seats, master);
  } else if (bind == binding::spread && threads <= count) {
    // A part of the partition for each thread; the master's is the one that it is in.
    const division parts{count / threads, count % threads};
    unsigned own = 0;
    while (parts.begin(own) + parts.extent(own) <= offset) ++own;
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned part = (own + i) % threads;
      const unsigned first = master.first + parts.begin(part);
      seats[i] = {
          .place = i == 0 ? master.place : first, .first = first, .count = parts.extent(part)};
    }
  } else {
    // Consecutive places from the master's on, with as many threads at each as even as can be.
    const unsigned used = std::min(threads, count);
    const division parts{threads / used, threads % used};
    for (unsigned part = 0; part < used; ++part) {
      const unsigned place = master.first + (offset + part) % count;
      for (unsigned i = parts.begin(part); i < parts.begin(part) + parts.extent(part); ++i) {
        seats[i] = bind == binding::spread ? seat{.place = place, .first = place, .count = 1}
                                           : seat{place, master.first, count};
      }
    }
  }
}

void bind_to(unsigned place) noexcept {
  const processor_list& processors = places()[place];
  processor_set set(std::max<unsigned>(CPU_SETSIZE, processors.back() + 1));
  for (const unsigned each : processors) set.add(each);
  static_cast<void>(set.write());
}

}  // namespace assay::omp
