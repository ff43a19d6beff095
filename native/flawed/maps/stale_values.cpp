// Maps whose values are stale: of the right key, but of an earlier time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "flawed_map.h"

namespace assay::flawed {

using subject::sound_map;

// Keeps the values that were erased.
class remembering_map : public sound_map {
 public:
  bool erase(std::uint64_t key) {
    const std::scoped_lock lock(mutex);
    const auto at = elements.find(key);
    if (at == elements.end()) return false;
    erased_[key] = at->second;
    elements.erase(at);
    return true;
  }

 protected:
  std::map<std::uint64_t, std::uint64_t> erased_;  // what they held; guarded by mutex
};

// Gives a key the value that it had before its last erase, now and then, as a map does that links a
// node again which an erase had taken out.
class stale_revived : public subject::test_map<stale_revived, flawed_base<remembering_map>> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    const auto [at, is_new] = elements.emplace(key, value);
    if (!is_new) return false;
    if (const auto last = erased_.find(key); last != erased_.end() && now_and_then_()) {
      at->second = last->second;
    }
    return true;
  }
};

static const subject::map<stale_revived> registered_stale_revived{
    "stale_revived", "gives a key an old value now and then"};

// A correct map behind handles that keep something to themselves.
template <class Handle>
class map_of_handles : public sound_map {
 public:
  Handle attach() { return Handle(*this); }
};

// Each thread keeps what it found, and is not told of what others do. Right for one thread.
class handle_with_cache {
 public:
  explicit handle_with_cache(sound_map& map) : map_(&map) {}

  bool insert(std::uint64_t key, std::uint64_t value) {
    place(key).reset();
    return map_->insert(key, value);
  }
  bool erase(std::uint64_t key) {
    place(key).reset();
    return map_->erase(key);
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    auto& kept = place(key);
    if (kept && kept->first == key) return kept->second;
    const auto found = map_->find(key);
    if (found) kept.emplace(key, *found);
    return found;
  }

 private:
  using element = std::pair<std::uint64_t, std::uint64_t>;
  std::optional<element>& place(std::uint64_t key) { return kept_[key % kept_.size()]; }

  sound_map* map_;
  std::array<std::optional<element>, 64> kept_;
};

class stale_cache : public map_of_handles<handle_with_cache> {};

static const subject::map<stale_cache> registered_stale_cache{
    "stale_cache", "has threads that keep what they found, whatever others change"};

// An insert of a key that had been there before makes its element with the value that it had then,
// and writes its own only when the thread calls again. Right for one thread.
class stale_late_write : public remembering_map {
 public:
  class handle {
   public:
    explicit handle(stale_late_write& map) : map_(&map) {}

    bool insert(std::uint64_t key, std::uint64_t value) {
      write();
      if (!map_->insert_old(key, value)) return false;
      late_.emplace(key, value);
      return true;
    }
    bool erase(std::uint64_t key) {
      write();
      return map_->erase(key);
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      write();
      return map_->find(key);
    }

   private:
    void write() {
      if (late_) map_->write(late_->first, late_->second);
      late_.reset();
    }

    stale_late_write* map_;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> late_;
  };
  handle attach() { return handle(*this); }

 private:
  bool insert_old(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    const auto last = erased_.find(key);
    return elements.emplace(key, last == erased_.end() ? value : last->second).second;
  }
  void write(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    if (const auto at = elements.find(key); at != elements.end()) at->second = value;
  }
};

static const subject::map<stale_late_write> registered_stale_late_write{
    "stale_late_write", "writes a value only when its thread calls again"};

}  // namespace assay::flawed
