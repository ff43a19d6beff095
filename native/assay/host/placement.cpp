#include "assay/host/placement.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "assay/host/topology.h"
#include "assay/input/bad_request.h"
#include "assay/input/json.h"

namespace assay::host {
namespace {

// The allowed processors of each core that has any, in logical order.
using core = std::vector<unsigned>;

core allowed_processors(hwloc_obj_t object, const topology& machine) {
  core found;
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_inside_cpuset_by_type(machine.get(), object->cpuset, HWLOC_OBJ_PU,
                                                      pu)) != nullptr;) {
    if (hwloc_bitmap_isset(machine.allowed(), pu->os_index) != 0) {
      found.push_back(pu->os_index);
    }
  }
  return found;
}

// The cores below an object, in logical order (`spread` false) or taken from each child in turn,
// and so on downwards, so that neighbours in the order share as little as possible (`spread` true).
std::vector<core> cores_below(hwloc_obj_t object, const topology& machine, bool spread) {
  // A virtual machine may show hardware threads without cores.
  if (object->type == HWLOC_OBJ_CORE || object->type == HWLOC_OBJ_PU) {
    core only = allowed_processors(object, machine);
    return only.empty() ? std::vector<core>() : std::vector<core>{std::move(only)};
  }
  std::vector<std::vector<core>> children;
  std::size_t longest = 0;
  for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling) {
    children.push_back(cores_below(child, machine, spread));
    longest = std::max(longest, children.back().size());
  }
  std::vector<core> cores;
  if (spread) {
    for (std::size_t turn = 0; turn < longest; ++turn) {
      for (std::vector<core>& child : children) {
        if (turn < child.size()) {
          cores.push_back(std::move(child[turn]));
        }
      }
    }
  } else {
    for (std::vector<core>& child : children) {
      std::ranges::move(child, std::back_inserter(cores));
    }
  }
  return cores;
}

// The first hardware thread of every core, then the second of every core that has one, and so on.
std::vector<unsigned> one_per_core_at_a_time(const std::vector<core>& cores) {
  std::vector<unsigned> order;
  bool more = true;
  for (std::size_t turn = 0; more; ++turn) {
    more = false;
    for (const core& each : cores) {
      if (turn < each.size()) {
        order.push_back(each[turn]);
        more = true;
      }
    }
  }
  return order;
}

std::vector<unsigned> checked(const std::vector<unsigned>& processors, const topology& machine) {
  if (processors.empty()) {
    throw bad_request("pinning: the list of processors is empty");
  }
  for (const unsigned processor : processors) {
    const bool exists = hwloc_get_pu_obj_by_os_index(machine.get(), processor) != nullptr;
    if (!exists || hwloc_bitmap_isset(machine.allowed(), processor) == 0) {
      throw bad_request("pinning: processor " + std::to_string(processor) +
                        (exists ? " may not be used by this process" : " does not exist") +
                        "; allowed are " + to_string(machine.allowed()));
    }
  }
  return processors;
}

std::vector<unsigned> order_of(const pinning& pinning, const topology& machine) {
  hwloc_obj* const root = hwloc_get_root_obj(machine.get());
  switch (pinning.kind) {
    case pinning::policy::none:
      return to_vector(machine.allowed());
    case pinning::policy::compact:
      return allowed_processors(root, machine);
    case pinning::policy::scatter:
      return one_per_core_at_a_time(cores_below(root, machine, true));
    case pinning::policy::cores_first:
      return one_per_core_at_a_time(cores_below(root, machine, false));
    case pinning::policy::list:
      return checked(pinning.processors, machine);
  }
  throw std::invalid_argument("unknown pinning policy");
}

// Describes an object of the topology with all below it: objects below one parent with the same
// description can be exchanged. Memory counts by its kind alone, as a node has less of it where the
// kernel lives.
std::string signature_of(hwloc_obj_t object, const topology& machine) {
  std::string signature(1, '(');
  const auto add = [&](auto number) { signature.append(std::to_string(number)).push_back(','); };
  add(static_cast<int>(object->type));
  if (object->subtype != nullptr) signature += object->subtype;
  if (hwloc_obj_type_is_cache(object->type) != 0 || object->type == HWLOC_OBJ_MEMCACHE) {
    const auto& cache = object->attr->cache;
    add(cache.depth);
    add(cache.size);
    add(cache.linesize);
    add(cache.associativity);
  }
  if (object->type == HWLOC_OBJ_PU) {
    add(hwloc_bitmap_isset(machine.allowed(), object->os_index));
    add(hwloc_cpukinds_get_by_cpuset(machine.get(), object->cpuset, 0));  // -1: not known
  }
  std::vector<std::string> below;
  for (hwloc_obj_t first : {object->first_child, object->memory_first_child}) {
    for (hwloc_obj_t child = first; child != nullptr; child = child->next_sibling) {
      below.push_back(signature_of(child, machine));
    }
  }
  std::ranges::sort(below);
  for (const std::string& child : below) signature += child;
  signature.push_back(')');
  return signature;
}

// For each processor below `from` the one that takes its place below `to`, an object with the same
// signature.
void exchange_below(hwloc_obj_t from, hwloc_obj_t to, const topology& machine,
                    std::mt19937_64& random, std::map<unsigned, unsigned>& places) {
  if (from->type == HWLOC_OBJ_PU) {
    places[from->os_index] = to->os_index;
    return;
  }
  std::map<std::string, std::vector<hwloc_obj_t>> alike;
  for (hwloc_obj_t child = to->first_child; child != nullptr; child = child->next_sibling) {
    alike[signature_of(child, machine)].push_back(child);
  }
  for (hwloc_obj_t child = from->first_child; child != nullptr; child = child->next_sibling) {
    std::vector<hwloc_obj_t>& left = alike[signature_of(child, machine)];
    std::swap(left[random() % left.size()], left.back());
    exchange_below(child, left.back(), machine, random, places);
    left.pop_back();
  }
}

std::vector<unsigned> exchanged(std::vector<unsigned> order, const topology& machine,
                                std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<unsigned, unsigned> places;
  hwloc_obj* const root = hwloc_get_root_obj(machine.get());
  exchange_below(root, root, machine, random, places);
  for (unsigned& processor : order) processor = places.at(processor);
  return order;
}

std::vector<unsigned> order_of(const pinning& pinning, const topology& machine,
                               std::optional<std::uint64_t> exchange) {
  std::vector<unsigned> order = order_of(pinning, machine);
  if (!exchange || pinning.kind == pinning::policy::none) return order;
  if (pinning.kind == pinning::policy::list) {
    throw bad_request(
        "placement: exchanges the processors of a policy, and pinning lists some; name a policy "
        "(compact, scatter or cores_first), or leave placement out");
  }
  return exchanged(std::move(order), machine, *exchange);
}

using bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, decltype(&hwloc_bitmap_free)>;

}  // namespace

pinning parse_pinning(const nlohmann::json& value) {
  if (value.is_string()) {
    const auto& name = value.get_ref<const std::string&>();
    if (name == "none") return {.kind = pinning::policy::none, .processors = {}};
    if (name == "compact") return {.kind = pinning::policy::compact, .processors = {}};
    if (name == "scatter") return {.kind = pinning::policy::scatter, .processors = {}};
    if (name == "cores_first") return {.kind = pinning::policy::cores_first, .processors = {}};
  }
  if (value.is_array() && !value.empty()) {
    std::vector<unsigned> processors;
    for (const nlohmann::json& entry : value) {
      // hwloc takes processors as int.
      if (!entry.is_number_integer() || entry < 0 || entry > 0x7fffffff) {
        throw bad_request("pinning: " + input::shown(entry) + " is not a processor's number");
      }
      processors.push_back(entry.get<unsigned>());
    }
    return {.kind = pinning::policy::list, .processors = std::move(processors)};
  }
  throw bad_request(
      "pinning: must be \"none\", \"compact\", \"scatter\", \"cores_first\" or a list of at least "
      "one processor, not " +
      (value.is_array() ? "an empty list" : input::shown(value)));
}

placement::placement(const pinning& pinning, unsigned threads,
                     std::optional<std::uint64_t> exchange)
    : placement(pinning, threads, topology::this_machine(), exchange) {}

placement::placement(const pinning& pinning, unsigned threads, const topology& machine,
                     std::optional<std::uint64_t> exchange)
    : binds_(pinning.kind != pinning::policy::none),
      by_thread_(order_of(pinning, machine, exchange)) {
  const std::size_t used =
      binds_ ? std::min<std::size_t>(threads, by_thread_.size()) : by_thread_.size();
  for (std::size_t i = 0; i < used; ++i) {
    if (std::ranges::find(processors_, by_thread_[i]) == processors_.end()) {
      processors_.push_back(by_thread_[i]);
    }
  }
}

void placement::bind_this_thread(unsigned thread_index) const {
  if (binds_) {
    bind_this_thread_to(by_thread_[thread_index % by_thread_.size()]);
  }
}

sharing_marks marks_of(pinning::policy kind, const topology& machine) {
  sharing_marks marks;
  std::set<hwloc_obj_t> cores, packages;
  unsigned threads = 0;
  for (const unsigned processor : order_of({.kind = kind, .processors = {}}, machine)) {
    ++threads;
    hwloc_obj* const pu = hwloc_get_pu_obj_by_os_index(machine.get(), processor);
    const auto first_in = [&](hwloc_obj_type_t type, std::set<hwloc_obj_t>& used) {
      return used.insert(hwloc_get_ancestor_obj_by_type(machine.get(), type, pu)).second;
    };
    // Where a virtual machine shows no cores, nothing is known to share one.
    if (hwloc_get_nbobjs_by_type(machine.get(), HWLOC_OBJ_CORE) > 0 &&
        !first_in(HWLOC_OBJ_CORE, cores) && !marks.smt) {
      marks.smt = threads;
    }
    if (first_in(HWLOC_OBJ_PACKAGE, packages) && threads > 1) marks.socket.push_back(threads);
  }
  return marks;
}

void bind_this_thread_to(unsigned processor) {
  const bitmap set(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  hwloc_bitmap_only(set.get(), processor);
  if (hwloc_set_cpubind(topology::this_machine().get(), set.get(), HWLOC_CPUBIND_THREAD) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot bind a thread to processor " + std::to_string(processor));
  }
}

std::vector<unsigned> bound_to() {
  const bitmap set(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology::this_machine().get(), set.get(), HWLOC_CPUBIND_THREAD) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot read a thread's binding");
  }
  return to_vector(set.get());
}

std::optional<unsigned> last_ran_on() {
  const int processor = sched_getcpu();
  return processor < 0 ? std::nullopt : std::optional(static_cast<unsigned>(processor));
}

}  // namespace assay::host
