#include "assay/rig/model.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "assay/random/splitmix64.h"
#include "assay/rig/history.h"

namespace assay::rig {
namespace {

using workload::operation;

class model {
 public:
  answer ask(const question& asked) {
    switch (asked.kind) {
      case operation::insert:
        return elements_.emplace(asked.key, asked.value).second;
      case operation::erase:
        return elements_.erase(asked.key) != 0;
      case operation::find: {
        const auto found = elements_.find(asked.key);
        return found == elements_.end() ? std::nullopt : std::optional(found->second);
      }
      case operation::size:
        return std::uint64_t{elements_.size()};
      case operation::range:
        return std::vector<element>(elements_.lower_bound(asked.key),
                                    elements_.upper_bound(asked.last));
      default:
        return all();
    }
  }
  [[nodiscard]] std::vector<element> all() const { return {elements_.begin(), elements_.end()}; }

 private:
  std::map<std::uint64_t, std::uint64_t> elements_;
};

// Only a range promises an order.
answer in_order(answer answered, operation kind) {
  if (auto* met = std::get_if<std::vector<element>>(&answered); met && kind != operation::range) {
    std::ranges::sort(*met);
  }
  return answered;
}

std::string describe(const modelling& asked, std::uint64_t number, const std::string& what,
                     const answer& expected, const answer& got) {
  return "seed " + std::to_string(asked.seed) + ", operation " + std::to_string(number) + ": " +
         what + " answers " + to_string(got) + ", and std::map " + to_string(expected);
}

}  // namespace

std::optional<std::string> difference_from_model(const trial::subject_entry& subject,
                                                 const modelling& asked) {
  random::splitmix64 draw(asked.seed);
  model right;
  const auto map = subject.open({.key_range = asked.keys, .threads = 1});
  {
    const auto handle = map->attach();
    for (std::uint64_t i = 0; i < asked.operations; ++i) {
      // Updates are most of the operations, whatever else a map offers.
      const bool update = draw() % 2 == 0;
      const operation kind = update ? static_cast<operation>(draw() % 2)
                                    : subject.operations[draw() % subject.operations.size()];
      const std::uint64_t key = 1 + draw() % asked.keys;
      const question one{.kind = kind, .key = key, .value = i, .last = key + draw() % asked.keys};
      const answer expected = right.ask(one);
      const answer got = in_order(handle->ask(one), kind);
      if (got != expected) return describe(asked, i, to_string(one), expected, got);
    }
  }
  const answer expected = right.all();
  const answer got = in_order(map->walk(2 * asked.keys), operation::iterate);
  if (got != expected) return describe(asked, asked.operations, "a walk", expected, got);
  return std::nullopt;
}

}  // namespace assay::rig
