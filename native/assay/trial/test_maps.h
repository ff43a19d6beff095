// Maps for tests: a correct one, which the tests' own maps derive from to do one thing wrong.

#ifndef ASSAY_TRIAL_TEST_MAPS_H_
#define ASSAY_TRIAL_TEST_MAPS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "assay/maps/plain_handle.h"

namespace assay::trial {

class sound_map {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    return elements.emplace(key, value).second;
  }
  bool erase(std::uint64_t key) {
    const std::scoped_lock lock(mutex);
    return elements.erase(key) != 0;
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const std::scoped_lock lock(mutex);
    const auto found = elements.find(key);
    return found == elements.end() ? std::nullopt : std::optional(found->second);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : elements) visit(key, value);
  }

 protected:
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> elements;
};

// `Base` with an attach() whose handles call the functions of `Derived`.
// Its constructor is open to everyone because maps also derive from it through another class.
template <class Derived, class Base = sound_map>
class test_map : public Base {  // NOLINT(bugprone-crtp-constructor-accessibility)
 public:
  auto attach() { return plain_handle(static_cast<Derived&>(*this)); }
};

class correct_map : public test_map<correct_map> {};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_TEST_MAPS_H_
