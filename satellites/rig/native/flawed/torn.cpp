// Maps of which one operation is torn: it leaves the lock between its look at the map and what it
// makes of that. Asked by one thread, it answers rightly.

#include <array>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "flawed_map.h"

namespace assay::flawed {
namespace {

using number = std::uint64_t;
using found = std::optional<number>;
using pair = std::optional<subject::element>;

class torn : public flawed_ordered_map<torn> {
 public:
  // The operation that is torn, in all maps of the process. A visit skips an element now and then,
  // or goes on when it is to end.
  inline static std::string_view which{};

  bool insert_or_assign(number key, number value) {
    return !alter("insert_or_assign", key, [&](found) { return value; });
  }
  bool try_emplace(number key, number value) {
    return !alter("try_emplace", key, [&](found held) { return held.value_or(value); });
  }
  bool emplace(number key, number value) {
    return !alter("emplace", key, [&](found held) { return held.value_or(value); });
  }
  std::pair<number, bool> get_or_emplace(number key, number value) {
    const found held =
        alter("get_or_emplace", key, [&](found before) { return before.value_or(value); });
    return {held.value_or(value), !held};
  }
  bool emplace_and_visit(number key, auto visit, number value) {
    const found held =
        alter("emplace_and_visit", key, [&](found before) { return before.value_or(value); });
    visit(key, held.value_or(value));
    return !held;
  }
  bool update(number key, auto function) {
    return alter("update", key, [&](found held) { return held ? found(function(*held)) : held; })
        .has_value();
  }
  bool upsert(number key, auto make, auto change) {
    return !alter("upsert", key, [&](found held) { return held ? change(*held) : make(); });
  }
  found exchange(number key, number value) {
    return alter("exchange", key, [&](found) { return value; });
  }
  found extract(number key) {
    return alter("extract", key, [](found) { return found(); });
  }
  bool erase_if(number key, auto p) {
    bool is_removed = false;
    alter("erase_if", key, [&](found held) {
      is_removed = held && p(*held);
      return is_removed ? found() : held;
    });
    return is_removed;
  }
  number erase_range(number first, number last) {
    const std::scoped_lock lock(mutex);
    std::vector<number> met;
    for (auto at = elements.lower_bound(first); at != elements.end() && at->first <= last; ++at) {
      met.push_back(at->first);
    }
    tear("erase_range");
    for (const number key : met) elements.erase(key);
    return met.size();
  }

  // Torn, it looks whether what it met first is still there.
  bool empty() {
    const std::scoped_lock lock(mutex);
    if (elements.empty()) return true;
    const number key = elements.begin()->first;
    tear("empty");
    return which == "empty" ? !elements.contains(key) : elements.empty();
  }

  pair lower_bound(number key) {
    return at("lower_bound", [&] { return elements.lower_bound(key); });
  }
  pair upper_bound(number key) {
    return at("upper_bound", [&] { return elements.upper_bound(key); });
  }
  pair floor(number key) {
    return at("floor", [&] { return before(elements.upper_bound(key)); });
  }
  pair predecessor(number key) {
    return at("predecessor", [&] { return before(elements.lower_bound(key)); });
  }

  bool visit_range(number first, number last, auto visit) {
    const std::scoped_lock lock(mutex);
    return first > last || visit_until("visit_range", elements.lower_bound(first),
                                       elements.upper_bound(last), visit);
  }
  bool visit_all(auto visit) {
    const std::scoped_lock lock(mutex);
    return visit_until("visit_all", elements.begin(), elements.end(), visit);
  }
  void visit_range_descending(number first, number last, auto visit) {
    const std::scoped_lock lock(mutex);
    const bool skips = which == "visit_range_descending" && now_and_then_();
    bool is_first = true;
    for (auto at = elements.upper_bound(last); at != elements.begin() && first <= last;) {
      if ((--at)->first < first) return;
      if (!skips || !is_first) visit(at->first, at->second);
      is_first = false;
    }
  }
  void visit_all_descending(auto visit) {
    const std::scoped_lock lock(mutex);
    const bool skips = which == "visit_all_descending" && now_and_then_();
    for (auto at = elements.rbegin(); at != elements.rend(); ++at) {
      if (!skips || at != elements.rbegin()) visit(at->first, at->second);
    }
  }

 private:
  using iterator = decltype(elements)::iterator;

  void tear(std::string_view operation) {
    if (which != operation) return;
    mutex.unlock();
    // Long enough for others to change what was met: most histories have few such calls.
    for (int i = 0; i < 8; ++i) {
      ASSAY_POINT("torn_between");
      std::this_thread::yield();
    }
    mutex.lock();
  }
  // Stores what `leaves` makes of what is under the key, and says what that is.
  found alter(std::string_view operation, number key, auto leaves) {
    const std::scoped_lock lock(mutex);
    const auto at = elements.find(key);
    const found held = at == elements.end() ? std::nullopt : found(at->second);
    tear(operation);
    if (const found left = leaves(held)) {
      elements.insert_or_assign(key, *left);
    } else {
      elements.erase(key);
    }
    return held;
  }
  // Visits until `visit` is false; says whether it came to its end.
  bool visit_until(std::string_view operation, iterator at, iterator end, auto visit) {
    const bool goes_on = which == operation && now_and_then_();
    for (; at != end; ++at) {
      if (!visit(at->first, at->second) && !goes_on) return false;
    }
    return true;
  }
  // The element that `search` finds, with the value that it has then.
  pair at(std::string_view operation, auto search) {
    const std::scoped_lock lock(mutex);
    const auto where = search();
    if (where == elements.end()) return std::nullopt;
    const number key = where->first;
    tear(operation);
    const auto now = elements.find(key);
    return now == elements.end() ? std::nullopt : pair(*now);
  }
  iterator before(iterator where) {
    return where == elements.begin() ? elements.end() : std::prev(where);
  }
};

constexpr std::array<std::string_view, 20> operations{"insert_or_assign",
                                                      "try_emplace",
                                                      "emplace",
                                                      "empty",
                                                      "get_or_emplace",
                                                      "emplace_and_visit",
                                                      "update",
                                                      "upsert",
                                                      "exchange",
                                                      "extract",
                                                      "erase_if",
                                                      "erase_range",
                                                      "lower_bound",
                                                      "upper_bound",
                                                      "floor",
                                                      "predecessor",
                                                      "visit_range",
                                                      "visit_all",
                                                      "visit_range_descending",
                                                      "visit_all_descending"};

const bool registered = [] {
  for (const std::string_view operation : operations) {
    const std::string name(operation);
    subject::subject_entry entry =
        subject::describe_subject<torn>("torn_" + name, name + "() is torn");
    entry.types[0].build = [operation,
                            build = entry.types[0].build](const subject::map_hints& hints) {
      torn::which = operation;
      return build(hints);
    };
    subject::register_subject(std::move(entry));
  }
  return true;
}();

}  // namespace
}  // namespace assay::flawed
