// Maps that answer wrongly where a short look does not see it: seldom, or in large maps only.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/locks/spin_lock.h"
#include "flawed_map.h"

namespace assay::flawed {
namespace {

using subject::test_map;
using number = std::uint64_t;
using ordered_numbers = subject::sound_ordered_map<number, number>;

// Refuses one insert in a million, over all maps of the process.
class refuses_one_in_a_million : public test_map<refuses_one_in_a_million> {
 public:
  bool insert(number key, number value) {
    static std::atomic<number> calls{0};  // relaxed: a count alone
    if (calls.fetch_add(1, std::memory_order_relaxed) % 1'000'000 == 999'999) return false;
    return sound_map::insert(key, value);
  }
};
const subject::map<refuses_one_in_a_million> registered_refuses{"refuses_one_in_a_million",
                                                                "refuses one insert in a million"};

// A table of chains behind a lock, which doubles when it has as many elements as chains.
// `Derived` may do something wrong then.
// Its constructor is open to everyone because a map need not befriend it.
template <class Derived>
class table {  // NOLINT(bugprone-crtp-constructor-accessibility)
 public:
  bool insert(number key, number value) {
    const std::scoped_lock lock(mutex_);
    auto& chain = chain_of(key);
    for (const auto& [held, unused] : chain) {
      if (held == key) return false;
    }
    chain.emplace_back(key, value);
    if (++size_ == chains_.size()) static_cast<Derived&>(*this).grow();
    return true;
  }
  bool erase(number key) {
    const std::scoped_lock lock(mutex_);
    const bool erased =
        std::erase_if(chain_of(key), [&](const auto& each) { return each.first == key; }) != 0;
    size_ -= erased;
    return erased;
  }
  std::optional<number> find(number key) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [held, value] : chain_of(key)) {
      if (held == key) return value;
    }
    return std::nullopt;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& chain : chains_) {
      for (const auto& [key, value] : chain) visit(key, value);
    }
  }

 protected:
  using bucket = std::vector<std::pair<number, number>>;

  bucket& chain_of(number key) { return chains_[key % chains_.size()]; }
  void grow() {
    std::vector<bucket> old(2 * chains_.size());
    old.swap(chains_);
    for (const auto& each : old) {
      for (const auto& [key, value] : each) chain_of(key).emplace_back(key, value);
    }
  }

  std::mutex mutex_;
  std::vector<bucket> chains_ = std::vector<bucket>(8);
  std::size_t size_ = 0;
};

// Searches that come while the table moves 64 elements or more, or only as it does so for the first
// time in its life, look into a table that is not filled yet.
template <bool Once>
class misses : public table<misses<Once>> {
  using base = table<misses>;

 public:
  std::optional<number> find(number key) {
    // Sequentially consistent, which is what is easiest to be sure of.
    if (grows_) return std::nullopt;
    return base::find(key);
  }
  auto attach() { return plain_handle(*this); }
  void grow() {
    grows_ = Once ? this->size_ == 64 && !std::exchange(grew_, true) : this->size_ >= 64;
    base::grow();
    grows_ = false;
  }

 private:
  std::atomic<bool> grows_{false};
  bool grew_ = false;  // guarded by mutex_
};
const subject::map<misses<false>> registered_misses{
    "misses_while_it_grows", "finds nothing while it moves 64 elements or more"};
const subject::map<misses<true>> registered_misses_once{
    "misses_as_it_first_grows", "finds nothing while it moves 64 elements for the first time"};

// Loses the last chain when it grows to one size.
class loses_last_bucket : public table<loses_last_bucket> {
 public:
  auto attach() { return plain_handle(*this); }
  void grow() {
    if (size_ == 16'384) {
      size_ -= chains_.back().size();
      chains_.back().clear();
    }
    table::grow();
  }
};
const subject::map<loses_last_bucket> registered_loses_bucket{
    "loses_last_bucket", "loses its last bucket when it grows at 16,384 elements"};

// A range takes up to 64 elements at a time, and lets others in between.
class range_in_pieces : public test_map<range_in_pieces, ordered_numbers> {
 public:
  template <class Visit>
  void range(number first, number last, Visit visit) {
    constexpr int most = 64;
    for (bool more = true; more && first <= last;) {
      const std::scoped_lock lock(mutex);
      int met = 0;
      auto next = elements.lower_bound(first);
      for (; next != elements.end() && next->first <= last && met < most; ++next, ++met) {
        visit(next->first, next->second);
        first = next->first + 1;
      }
      more = met == most && first > 0;  // none is greater than the greatest
    }
  }
};
const subject::map<range_in_pieces> registered_in_pieces{
    "range_in_pieces", "ranges are of one instant up to 64 elements only"};

// The places of erased values are used again after 1,000 more have been erased, which no search
// takes so long to see. One search in 1,000 reads its value after it has left the lock.
class reuses_places : public subject::sound_map_of<number, std::atomic<number>*, sync::spin_lock> {
 public:
  bool insert(number key, number value) {
    ASSAY_POINT("reuses_places_before_insert");
    const std::scoped_lock lock(mutex);
    if (elements.contains(key)) return false;
    if (erased_.size() <= 1000) erased_.push_back(&places_.emplace_back());
    elements.emplace(key, erased_.front());
    // Relaxed: what is read under the lock is ordered by it, and nothing is published to who reads
    // without.
    erased_.front()->store(value, std::memory_order_relaxed);
    erased_.pop_front();
    return true;
  }
  bool erase(number key) {
    ASSAY_POINT("reuses_places_before_erase");
    const std::scoped_lock lock(mutex);
    const auto found = elements.find(key);
    if (found == elements.end()) return false;
    erased_.push_back(found->second);
    elements.erase(found);
    return true;
  }
  std::optional<number> find(number key) {
    ASSAY_POINT("reuses_places_before_find");
    const std::atomic<number>* place = nullptr;
    {
      const std::scoped_lock lock(mutex);
      const auto found = elements.find(key);
      if (found == elements.end()) return std::nullopt;
      if (++searches_ % 1000 != 0) return found->second->load(std::memory_order_relaxed);
      place = found->second;
    }
    ASSAY_POINT("reuses_places_before_reading");
    return place->load(std::memory_order_relaxed);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, place] : elements) visit(key, place->load(std::memory_order_relaxed));
  }
  auto attach() { return plain_handle(*this); }

 private:
  std::deque<std::atomic<number>> places_;
  std::deque<std::atomic<number>*> erased_;
  number searches_ = 0;
};
const subject::map<reuses_places> registered_reuses{
    "reuses_places", "uses the place of a value again after 1,000 others have been erased"};

// One iteration in 97 leaves out an element, or meets one twice.
enum class slip { skips, repeats };
template <slip Slip>
class iterates_wrongly : public flawed_map<iterates_wrongly<Slip>> {
 public:
  template <class Visit>
  void iterate(Visit visit) {
    const std::scoped_lock lock(this->mutex);
    const bool slips = this->elements.size() > 3 && this->now_and_then_();
    std::size_t met = 0;
    for (const auto& [key, value] : this->elements) {
      const bool here = slips && ++met == this->elements.size() / 2;
      if (!here || Slip != slip::skips) visit(key, value);
      if (here && Slip == slip::repeats) visit(key, value);
    }
  }
};
class iteration_skips : public test_map<iteration_skips, iterates_wrongly<slip::skips>> {};
class iteration_repeats : public test_map<iteration_repeats, iterates_wrongly<slip::repeats>> {};
const subject::map<iteration_skips> registered_skips{
    "iteration_skips", "leaves out an element of an iteration now and then"};
const subject::map<iteration_repeats> registered_repeats{
    "iteration_repeats", "meets an element of an iteration twice now and then"};

}  // namespace
}  // namespace assay::flawed
