// What probes cost (`make bench`): the same subjects with a probe in every operation and, built
// with ASSAY_PROBES=0, without. CMake builds this file into a program each.

#include <cstdint>
#include <map>
#include <optional>

#include "assay/maps/plain_handle.h"
#include "assay/probe/probe.h"
#include "assay/subject/subject.h"

namespace {

assay::probe::counter operations{"operations", "calls of the map's functions"};

// Nothing but the probe: opaque, so that the compiler neither drops nor merges its calls.
class loop {
 public:
  static constexpr bool holds_nothing = true;

  [[gnu::noinline]] bool insert(std::uint64_t key, std::uint64_t value) {
    operations.add();
    asm volatile("" ::"r"(key), "r"(value));
    return true;
  }
  [[gnu::noinline]] bool erase(std::uint64_t key) {
    operations.add();
    asm volatile("" ::"r"(key));
    return true;
  }
  [[gnu::noinline]] std::optional<std::uint64_t> find(std::uint64_t key) {
    std::optional<std::uint64_t> nothing;  // named, as noop.h says why
    operations.add();
    asm volatile("" ::"r"(key));
    return nothing;
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&&) {}
};

// A map that one thread has to itself, so that nothing hides what a probe costs.
class map {
 public:
  static constexpr unsigned max_threads = 1;

  bool insert(std::uint64_t key, std::uint64_t value) {
    operations.add();
    return map_.emplace(key, value).second;
  }
  bool erase(std::uint64_t key) {
    operations.add();
    return map_.erase(key) != 0;
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    operations.add();
    const auto found = map_.find(key);
    return found == map_.end() ? std::nullopt : std::optional(found->second);
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> map_;
};

constexpr bool probed = assay::probe::compiled_in;

const assay::subject::map<loop> registered_loop{
    probed ? "loop_probed" : "loop_unprobed",
    probed ? "no map: a counter alone" : "no map: a counter that is compiled out"};
const assay::subject::map<map> registered_map{
    probed ? "map_probed" : "map_unprobed",
    probed ? "std::map for one thread, with a counter"
           : "std::map for one thread, a counter compiled out"};

}  // namespace
