// Sets of entries to try the rig itself on.

#ifndef ASSAY_RIG_TEST_SETS_H_
#define ASSAY_RIG_TEST_SETS_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/subject/any_entry_set.h"

namespace assay::rig {

// One lock. What derives from it may do one operation wrong; each is called with the lock held.
template <class Lock>
struct locked_set_by : subject::any_entry_set {
  using number = std::uint64_t;

  std::unique_ptr<subject::any_entry_handle> attach() override {
    return std::make_unique<handle>(*this);
  }
  std::vector<number> walk() override { return {held.begin(), held.end()}; }
  std::optional<std::string> broken_invariant() override { return std::nullopt; }

  virtual void insert(number entry) { held.insert(entry); }
  virtual std::optional<number> search(number lo, number hi) { return first(lo, hi); }
  virtual std::optional<number> erase(number lo, number hi) {
    const auto found = first(lo, hi);
    if (found) held.erase(*found);
    return found;
  }
  virtual std::optional<number> erase_near(number lo, number hi) { return erase(lo, hi); }
  virtual std::vector<number> visit(number lo, number hi) {
    return {held.lower_bound(lo), held.upper_bound(hi)};
  }

  [[nodiscard]] std::optional<number> first(number lo, number hi) const {
    const auto at = held.lower_bound(lo);
    return at == held.end() || *at > hi ? std::nullopt : std::optional(*at);
  }
  [[nodiscard]] std::optional<number> last(number lo, number hi) const {
    const auto after = held.upper_bound(hi);
    return after == held.begin() || *std::prev(after) < lo ? std::nullopt
                                                           : std::optional(*std::prev(after));
  }

  std::set<number> held;
  Lock mutex;

 private:
  class handle final : public subject::any_entry_handle {
   public:
    explicit handle(locked_set_by& of) : of_(of) {}
    void insert(number entry) override {
      const std::scoped_lock lock(of_.mutex);
      of_.insert(entry);
    }
    std::optional<number> search(number lo, number hi) override {
      const std::scoped_lock lock(of_.mutex);
      return of_.search(lo, hi);
    }
    std::optional<number> erase(number lo, number hi) override {
      const std::scoped_lock lock(of_.mutex);
      return of_.erase(lo, hi);
    }
    std::optional<number> erase_near(number lo, number hi) override {
      const std::scoped_lock lock(of_.mutex);
      return of_.erase_near(lo, hi);
    }
    std::vector<number> visit(number lo, number hi) override {
      const std::scoped_lock lock(of_.mutex);
      return of_.visit(lo, hi);
    }
    number approximate_size() override { return of_.held.size(); }

   private:
    locked_set_by& of_;
  };
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_TEST_SETS_H_
