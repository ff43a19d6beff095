// Any concurrent map of numbers behind one interface, for code that asks maps single questions and
// looks at each answer: tests, checkers, tools. A call through it costs a virtual call and, where
// elements are visited, a vector; code that measures maps is a template over them instead.
//
//     std::unique_ptr<assay::any_map> map = std::make_unique<assay::erased_map<my_map>>();
//     auto handle = map->attach();                            // in each thread
//     const assay::answer answer = handle->ask({.kind = workload::operation::find, .key = 7});
//     std::get<std::optional<std::uint64_t>>(answer);
//
// What a call promises, and which threads may make it, is what the map's own call promises; see
// concept.h.

#ifndef ASSAY_MAPS_ANY_MAP_H_
#define ASSAY_MAPS_ANY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "assay/maps/concept.h"
#include "assay/workload/operation_batch.h"

namespace assay {

// A key and its value.
using element = std::pair<std::uint64_t, std::uint64_t>;

struct question {
  workload::operation kind = workload::operation::find;
  std::uint64_t key = 0;    // of a range: the first
  std::uint64_t value = 0;  // of an insert
  std::uint64_t last = 0;   // of a range
};

// Of insert and erase; of find; of size; of what visits several, in the order of the visit.
using answer =
    std::variant<bool, std::optional<std::uint64_t>, std::uint64_t, std::vector<element>>;

class any_handle {
 public:
  any_handle() = default;
  any_handle(const any_handle&) = delete;
  any_handle& operator=(const any_handle&) = delete;
  virtual ~any_handle() = default;

  // Throws std::logic_error if the map does not offer the operation, and what the map throws.
  virtual answer ask(const question& asked) = 0;
};

class any_map {
 public:
  any_map() = default;
  any_map(const any_map&) = delete;
  any_map& operator=(const any_map&) = delete;
  virtual ~any_map() = default;

  // For the calling thread, which also destroys it, before the map.
  [[nodiscard]] virtual std::unique_ptr<any_handle> attach() = 0;

  // What for_each visits, at most `most` elements; no handle is inside a call.
  [[nodiscard]] virtual std::vector<element> walk(std::size_t most) = 0;
};

template <class Map>
  requires concurrent_map<Map, std::uint64_t, std::uint64_t>
class erased_map final : public any_map {
  using number = std::uint64_t;
  using handle_type = decltype(std::declval<Map&>().attach());

 public:
  // Builds the map from `arguments`.
  template <class... Arguments>
  explicit erased_map(const Arguments&... arguments) : map_(arguments...) {}

  std::unique_ptr<any_handle> attach() override { return std::make_unique<handle>(map_); }

  std::vector<element> walk(std::size_t most) override {
    struct enough {};
    std::vector<element> met;
    try {
      map_.for_each([&](number key, number value) {
        if (met.size() == most) throw enough();
        met.emplace_back(key, value);
      });
    } catch (const enough&) {
      return met;
    }
    return met;
  }

 private:
  // Keeps what it is called with.
  class collector {
   public:
    explicit collector(std::vector<element>& met) : met_(&met) {}
    void operator()(number key, number value) const { met_->emplace_back(key, value); }
    void begin_again() const { met_->clear(); }

   private:
    std::vector<element>* met_;
  };

  class handle final : public any_handle {
   public:
    explicit handle(Map& map) : handle_(map.attach()) {}

    answer ask(const question& asked) override {
      using workload::operation;
      switch (asked.kind) {
        case operation::insert:
          return insert(asked.key, asked.value);
        case operation::erase:
          return erase(asked.key);
        case operation::find:
          return find(asked.key);
        case operation::size:
          return size();
        default:
          return visit(asked);
      }
    }

   private:
    // Nobody requests a stop of `never_`, so that no operation gives up.
    bool insert(number key, number value) {
      if constexpr (stoppable_map_handle<handle_type, number, number>) {
        return handle_.insert(key, value, never_).value();
      } else {
        return handle_.insert(key, value);
      }
    }
    bool erase(number key) {
      if constexpr (stoppable_map_handle<handle_type, number, number>) {
        return handle_.erase(key, never_).value();
      } else {
        return handle_.erase(key);
      }
    }
    std::optional<number> find(number key) {
      if constexpr (stoppable_map_handle<handle_type, number, number>) {
        return handle_.find(key, never_).value();
      } else {
        return handle_.find(key);
      }
    }
    number size() {
      if constexpr (stoppable_size<handle_type>) {
        return handle_.size(never_).value();
      } else if constexpr (plain_size<handle_type>) {
        return handle_.size();
      } else {
        throw not_offered();
      }
    }
    std::vector<element> visit(const question& asked) {
      using workload::operation;
      std::vector<element> met;
      const collector collect(met);
      if (asked.kind == operation::range) {
        if constexpr (stoppable_range<handle_type, number, number>) {
          handle_.range(asked.key, asked.last, collect, never_);
          return met;
        } else if constexpr (plain_range<handle_type, number, number>) {
          handle_.range(asked.key, asked.last, collect);
          return met;
        }
      } else if (asked.kind == operation::snapshot) {
        if constexpr (stoppable_snapshot<handle_type, number, number>) {
          handle_.snapshot(collect, never_);
          return met;
        } else if constexpr (plain_snapshot<handle_type, number, number>) {
          handle_.snapshot(collect);
          return met;
        }
      } else {
        if constexpr (stoppable_iterate<handle_type, number, number>) {
          handle_.iterate(collect, never_);
          return met;
        } else if constexpr (plain_iterate<handle_type, number, number>) {
          handle_.iterate(collect);
          return met;
        }
      }
      throw not_offered();
    }
    static std::logic_error not_offered() {
      return std::logic_error("the map does not offer this operation");
    }

    handle_type handle_;
    std::stop_token never_;
  };

  Map map_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_ANY_MAP_H_
