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

namespace assay::rig {

// One lock. What derives from it may do one operation wrong; each is called with the lock held.
template <class Lock>
struct locked_set_by {
  using number = std::uint64_t;

  locked_set_by() = default;
  locked_set_by(const locked_set_by&) = delete;
  locked_set_by& operator=(const locked_set_by&) = delete;
  virtual ~locked_set_by() = default;

  class handle {
   public:
    explicit handle(locked_set_by& of) : of_(of) {}
    void insert(number entry) {
      const std::scoped_lock lock(of_.mutex);
      of_.insert(entry);
    }
    std::optional<number> search(number lo, number hi) {
      const std::scoped_lock lock(of_.mutex);
      return of_.search(lo, hi);
    }
    std::optional<number> erase(number lo, number hi) {
      const std::scoped_lock lock(of_.mutex);
      return of_.erase(lo, hi);
    }
    std::optional<number> erase_near(number lo, number hi) {
      const std::scoped_lock lock(of_.mutex);
      return of_.erase_near(lo, hi);
    }
    std::vector<number> visit(number lo, number hi) {
      const std::scoped_lock lock(of_.mutex);
      return of_.visit(lo, hi);
    }
    [[nodiscard]] number approximate_size() const { return of_.held.size(); }

   private:
    locked_set_by& of_;
  };

  auto attach() { return std::make_unique<handle>(*this); }
  virtual std::vector<number> walk() { return {held.begin(), held.end()}; }
  static std::optional<std::string> broken_invariant() { return std::nullopt; }

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
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_TEST_SETS_H_
