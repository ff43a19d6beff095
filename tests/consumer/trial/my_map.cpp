#include <assay/trial/subject.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

class my_map {
 public:
  class handle {
   public:
    explicit handle(my_map& map) : map_(map) {}
    bool insert(std::uint64_t key, std::uint64_t value) {
      const std::scoped_lock lock(map_.mutex_);
      return map_.elements_.emplace(key, value).second;
    }
    bool erase(std::uint64_t key) {
      const std::scoped_lock lock(map_.mutex_);
      return map_.elements_.erase(key) != 0;
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const std::scoped_lock lock(map_.mutex_);
      const auto found = map_.elements_.find(key);
      if (found == map_.elements_.end()) return std::nullopt;
      return found->second;
    }

   private:
    my_map& map_;
  };

  explicit my_map(assay::trial::map_hints hints) : elements_(hints.key_range) {}
  handle attach() { return handle(*this); }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : elements_) visit(key, value);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> elements_;
};

static const assay::trial::subject<my_map> registered{"my_map",
                                                      "std::unordered_map behind a mutex"};
