// What the tests of ELB-trees share: trees of several entries, policies and settings, and the
// multimap and the queue, which are asked what they offer, all as sets of numbers.

#ifndef TESTS_MAPS_ELB_TEST_VARIANTS_H_
#define TESTS_MAPS_ELB_TEST_VARIANTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/maps/elb_tree.h"
#include "assay/subject/any_entry_set.h"

namespace assay::elb_test {

inline constexpr unsigned slowdown = ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER ? 8 : 1;

using number = std::uint64_t;

// Entries of a few keys meet this far apart: key * 2^32 and what makes it the only one.
inline constexpr number per_key = number{1} << 32;

struct variant {
  std::string name;
  std::function<std::unique_ptr<subject::any_entry_set>()> make;
  std::size_t left_by_near;  // how many smaller entries erase_near() may leave
  subject::entry_ranges asked = subject::entry_ranges::any;
};
inline std::ostream& operator<<(std::ostream& out, const variant& printed) {
  return out << printed.name;
}

// Nodes of 6 are balanced all the time.
std::vector<variant> variants_of_words();
std::vector<variant> variants_of_wide_words();
std::vector<variant> variants_of_users();  // a multimap and a queue
std::vector<variant> all_variants();

template <class Entry, class Reclaim, class Settings>
variant variant_of(std::string name) {
  using set = subject::erased_entry_set<elb_tree<Entry, Reclaim, Settings>, Entry>;
  return {std::move(name), [] { return std::make_unique<set>(); }, Settings::leaf_capacity - 1};
}

}  // namespace assay::elb_test

#endif  // TESTS_MAPS_ELB_TEST_VARIANTS_H_
