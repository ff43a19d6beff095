#include "assay/layout/order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace assay::layout {
namespace {

constexpr std::uint64_t first_address = 0x400000;

constexpr std::uint64_t aligned(std::uint64_t address, std::uint64_t to) {
  return (address + to - 1) / to * to;
}

std::uint64_t size_of(const trace& recorded, std::uint32_t procedure) {
  return std::max<std::uint64_t>(recorded.procedures[procedure].bytes, 1);
}

// Those that are movable, or those that are not, as they were linked.
order all_of(const trace& recorded, bool movable = true) {
  order all = order_of(as_linked(recorded));
  std::erase_if(all,
                [&](std::uint32_t each) { return recorded.procedures[each].movable != movable; });
  return all;
}

// Puts procedures at the end of what has a place, then those that are not movable.
void append(const trace& recorded, const order& all, std::uint64_t next, addresses& where) {
  const auto put = [&](const order& each_of) {
    for (const std::uint32_t each : each_of) {
      where[each] = aligned(next, alignment);
      next = where[each] + size_of(recorded, each);
    }
  };
  put(all);
  put(all_of(recorded, false));
}

// A number by which one of several equal things comes first, each as likely.
std::uint64_t turn(const random::decisions& drawn, const std::string& name) {
  return drawn.named(name).choose(std::size_t{1} << 62U);
}

// Joins procedures into chains: again and again, the two chains with the heaviest edge.
class chains {
 public:
  chains(const trace& recorded, const std::vector<edge>& edges, const random::decisions& drawn)
      : recorded_(recorded),
        drawn_(drawn),
        members_(recorded.procedures.size()),
        chain_of_(recorded.procedures.size()),
        centre_(recorded.procedures.size()),
        bytes_(recorded.procedures.size()),
        neighbours_(recorded.procedures.size()),
        weights_(recorded.procedures.size()) {
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      members_[i] = {i};
      chain_of_[i] = i;
      bytes_[i] = static_cast<double>(aligned(recorded.procedures[i].bytes, alignment));
      centre_[i] = bytes_[i] / 2;
    }
    for (const edge& each : edges) {
      neighbours_[each.a].push_back(each);
      neighbours_[each.b].push_back({.a = each.b, .b = each.a, .weight = each.weight});
      connect(each.a, each.b, each.weight);
    }
  }

  // Joins all that have edges.
  void join_all() {
    while (!heaviest_.empty()) {
      const candidate next = heaviest_.top();
      heaviest_.pop();
      const auto found = weights_[next.a].find(next.b);
      if (found == weights_[next.a].end() || found->second != next.weight) continue;  // it is old
      join(next.a, next.b);
    }
  }

  // Those that are left of procedures with edges, in drawn order and each either way round.
  [[nodiscard]] order left() const {
    order firsts;
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].empty() && !neighbours_[i].empty()) firsts.push_back(i);
    }
    random::decision by = drawn_.named("order of chains");
    shuffle(firsts, by);
    order all;
    for (const std::uint32_t chain : firsts) {
      order of = members_[chain];
      if (drawn_.named("way round of " + name(chain)).choose(2) == 1) std::ranges::reverse(of);
      all.insert(all.end(), of.begin(), of.end());
    }
    return all;
  }

 private:
  struct candidate {
    double weight = 0;
    std::uint64_t turn = 0;  // among equals
    std::uint32_t a = 0;     // chains, a < b
    std::uint32_t b = 0;
    friend bool operator<(const candidate& one, const candidate& other) {
      return std::tuple(one.weight, one.turn, other.a, other.b) <
             std::tuple(other.weight, other.turn, one.a, one.b);
    }
  };

  // A chain is called after its first procedure of the program.
  [[nodiscard]] const std::string& name(std::uint32_t chain) const {
    return recorded_.procedures[chain].name;
  }

  void connect(std::uint32_t one, std::uint32_t other, double weight) {
    const auto [a, b] = std::minmax(one, other);
    weights_[a][b] = weight;
    weights_[b][a] = weight;
    heaviest_.push({.weight = weight,
                    .turn = turn(drawn_, "turn of " + name(a) + " and " + name(b)),
                    .a = a,
                    .b = b});
  }

  // `a` < `b`, and `a` stays.
  void join(std::uint32_t a, std::uint32_t b) {
    const auto [flip_a, flip_b] = best_way(a, b);
    order& all = members_[a];
    order& more = members_[b];
    if (flip_a) std::ranges::reverse(all);
    if (flip_b) std::ranges::reverse(more);
    all.insert(all.end(), more.begin(), more.end());
    more = {};
    bytes_[a] = 0;
    for (const std::uint32_t each : all) {
      const auto size = static_cast<double>(aligned(recorded_.procedures[each].bytes, alignment));
      chain_of_[each] = a;
      centre_[each] = bytes_[a] + size / 2;
      bytes_[a] += size;
    }
    weights_[a].erase(b);
    const auto moved = std::exchange(weights_[b], {});
    for (const auto& [other, weight] : moved) {
      if (other == a) continue;
      weights_[other].erase(b);
      const auto also = weights_[a].find(other);
      connect(a, other, weight + (also == weights_[a].end() ? 0 : also->second));
    }
  }

  // Which of two chains to turn round before the second comes after the first.
  [[nodiscard]] std::pair<bool, bool> best_way(std::uint32_t a, std::uint32_t b) const {
    const bool a_is_shorter = members_[a].size() < members_[b].size();
    const std::uint32_t other = a_is_shorter ? b : a;
    double sum = 0;
    double sum_in_a = 0;  // of weights times distances from the chain's begin
    double sum_in_b = 0;
    for (const std::uint32_t each : members_[a_is_shorter ? a : b]) {
      for (const edge& to : neighbours_[each]) {
        if (chain_of_[to.b] != other) continue;
        sum += to.weight;
        sum_in_a += to.weight * centre_[a_is_shorter ? each : to.b];
        sum_in_b += to.weight * centre_[a_is_shorter ? to.b : each];
      }
    }
    // The distance in a to its end, if it stays as it is, and in b from its begin.
    const double to_end = sum * bytes_[a] - sum_in_a;
    const double from_end = sum * bytes_[b] - sum_in_b;
    const std::array<double, 4> costs{to_end + sum_in_b, to_end + from_end, sum_in_a + sum_in_b,
                                      sum_in_a + from_end};
    // Sums in another order differ in their last bits.
    const double least = *std::ranges::min_element(costs) + 1e-9 * sum * (bytes_[a] + bytes_[b]);
    std::array<std::size_t, 4> equal{};
    std::size_t number = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i] <= least) equal[number++] = i;
    }
    const std::size_t way =
        equal[drawn_.named("way to join " + name(a) + " and " + name(b)).choose(number)];
    return {way >= 2, way % 2 == 1};
  }

  const trace& recorded_;
  const random::decisions& drawn_;
  std::vector<order> members_;                 // of each chain; none: it is a part of another
  std::vector<std::uint32_t> chain_of_;        // of each procedure
  std::vector<double> centre_;                 // of each procedure, from the begin of its chain
  std::vector<double> bytes_;                  // of each chain
  std::vector<std::vector<edge>> neighbours_;  // of each procedure
  std::vector<std::unordered_map<std::uint32_t, double>> weights_;  // between chains
  std::priority_queue<candidate> heaviest_;
};

// The sets of the cache with which procedures begin.
class places {
 public:
  places(const trace& recorded, const std::vector<edge>& edges, const cache_shape& cache,
         const random::decisions& drawn)
      : recorded_(recorded),
        drawn_(drawn),
        line_(cache.line),
        sets_(cache.sets()),
        neighbours_(recorded.procedures.size()),
        begin_(recorded.procedures.size(), nowhere) {
    for (const edge& each : edges) {
      neighbours_[each.a].push_back(each);
      neighbours_[each.b].push_back({.a = each.b, .b = each.a, .weight = each.weight});
    }
  }

  [[nodiscard]] bool has_place(std::uint32_t procedure) const {
    return begin_[procedure] != nowhere;
  }

  // `beside`: a procedure whose sets are to be avoided, or the procedure itself.
  void place(std::uint32_t procedure, std::uint32_t beside) {
    std::vector<double> cost(sets_);  // of each set
    for (const edge& to : neighbours_[procedure]) {
      if (!has_place(to.b)) continue;
      each_set(to.b, [&](std::uint64_t set) { cost[set] += to.weight; });
    }
    std::vector<char> taken(sets_);
    if (beside != procedure) each_set(beside, [&](std::uint64_t set) { taken[set] = 1; });
    // For each set where the procedure may begin: whether it would share a set with `beside`, and
    // the cost.
    std::vector<std::pair<bool, double>> sums(sets_);
    for (std::uint64_t begin = 0; begin < sets_; ++begin) {
      for (std::uint64_t i = 0; i < length(procedure); ++i) {
        const std::uint64_t set = (begin + i) % sets_;
        sums[begin].first = sums[begin].first || taken[set] != 0;
        sums[begin].second += cost[set];
      }
    }
    std::pair least{true, std::numeric_limits<double>::infinity()};
    for (const auto& each : sums) least = std::min(least, each);
    // Sums in another order differ in their last bits.
    const double margin = 1e-9 * std::accumulate(cost.begin(), cost.end(), 0.0);
    std::vector<std::uint64_t> equal;
    for (std::uint64_t begin = 0; begin < sets_; ++begin) {
      if (sums[begin].first == least.first && sums[begin].second <= least.second + margin) {
        equal.push_back(begin);
      }
    }
    const std::string& name = recorded_.procedures[procedure].name;
    begin_[procedure] = equal[drawn_.named("place of " + name).choose(equal.size())];
  }

  [[nodiscard]] std::vector<char> have_places() const {
    std::vector<char> found;
    for (const std::uint64_t each : begin_) found.push_back(each == nowhere ? 0 : 1);
    return found;
  }

  [[nodiscard]] std::vector<begin_at> all() const {
    std::vector<begin_at> found;
    for (std::uint32_t i = 0; i < begin_.size(); ++i) {
      if (has_place(i)) found.push_back({.procedure = i, .set = begin_[i]});
    }
    return found;
  }

 private:
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  // In sets.
  [[nodiscard]] std::uint64_t length(std::uint32_t procedure) const {
    return std::min((size_of(recorded_, procedure) + line_ - 1) / line_, sets_);
  }
  template <class Use>
  void each_set(std::uint32_t procedure, const Use& use) const {
    for (std::uint64_t i = 0; i < length(procedure); ++i) use((begin_[procedure] + i) % sets_);
  }

  const trace& recorded_;
  const random::decisions& drawn_;
  std::uint64_t line_;
  std::uint64_t sets_;
  std::vector<std::vector<edge>> neighbours_;
  std::vector<std::uint64_t> begin_;
};

order without(order all, const std::vector<char>& has_place) {
  std::erase_if(all, [&](std::uint32_t each) { return has_place[each] != 0; });
  return all;
}

// All that have no place yet, in drawn order.
order the_rest(const trace& recorded, const std::vector<char>& has_place,
               const random::decisions& drawn) {
  order all = without(all_of(recorded), has_place);
  random::decision by = drawn.named("order of the rest");
  shuffle(all, by);
  return all;
}

}  // namespace

void shuffle(order& all, random::decision& drawn) {
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[i - 1 - drawn.choose(i)]);
}

addresses in_order(const trace& recorded, const order& all) {
  addresses where(recorded.procedures.size());
  append(recorded, all, first_address, where);
  return where;
}

addresses as_linked(const trace& recorded) {
  addresses where;
  for (const procedure& each : recorded.procedures) where.push_back(each.address);
  return where;
}

order permuted(const trace& recorded, const random::decisions& drawn) {
  order all = all_of(recorded);
  random::decision by = drawn.named("order");
  shuffle(all, by);
  return all;
}

addresses scattered(const trace& recorded, const hierarchy& caches,
                    const random::decisions& drawn) {
  const std::uint64_t way =
      std::max(caches.first.bytes / caches.first.ways, caches.second.bytes / caches.second.ways);
  random::decision gap = drawn.named("gaps");
  addresses where(recorded.procedures.size());
  std::uint64_t next = first_address;
  for (const std::uint32_t each : permuted(recorded, drawn)) {
    next = aligned(next, alignment) + gap.choose(way / alignment) * alignment;
    where[each] = next;
    next += recorded.procedures[each].bytes;
  }
  append(recorded, {}, next, where);
  return where;
}

std::vector<edge> noisy(const trace& recorded, std::vector<edge> edges, double r,
                        const random::decisions& drawn) {
  if (r == 0) return edges;
  for (edge& each : edges) {
    const std::string name = "weight of " + recorded.procedures[each.a].name + " and " +
                             recorded.procedures[each.b].name;
    each.weight = drawn.named(name).noisy(each.weight, r);
  }
  return edges;
}

order pettis_hansen(const trace& recorded, const std::vector<edge>& edges,
                    const random::decisions& drawn) {
  chains all(recorded, edges, drawn);
  all.join_all();
  order found = all.left();
  std::vector<char> has_place(recorded.procedures.size());
  for (const std::uint32_t each : found) has_place[each] = 1;
  const order rest = the_rest(recorded, has_place, drawn);
  found.insert(found.end(), rest.begin(), rest.end());
  return found;
}

addresses without_conflicts(const trace& recorded, const std::vector<edge>& edges,
                            const cache_shape& cache, const random::decisions& drawn) {
  struct candidate {
    edge of;
    std::uint64_t turn = 0;
  };
  std::vector<candidate> sorted;
  for (const edge& each : edges) {
    sorted.push_back({.of = each,
                      .turn = turn(drawn, "turn of " + recorded.procedures[each.a].name + " and " +
                                              recorded.procedures[each.b].name)});
  }
  std::ranges::sort(sorted, [](const candidate& one, const candidate& other) {
    return std::tuple(one.of.weight, one.turn, other.of.a, other.of.b) >
           std::tuple(other.of.weight, other.turn, one.of.a, one.of.b);
  });
  places all(recorded, edges, cache, drawn);
  for (const auto& [of, turn] : sorted) {
    auto [first, second] = std::pair(of.a, of.b);
    if (all.has_place(first) && all.has_place(second)) continue;
    if (!all.has_place(first) && !all.has_place(second)) {
      const std::string name =
          recorded.procedures[first].name + " and " + recorded.procedures[second].name;
      if (drawn.named("first of " + name).choose(2) == 1) std::swap(first, second);
      all.place(first, first);
    }
    if (all.has_place(second)) std::swap(first, second);
    all.place(second, first);
  }
  return with_gaps(recorded, all.all(), the_rest(recorded, all.have_places(), drawn), cache, drawn);
}

addresses with_gaps(const trace& recorded, const std::vector<begin_at>& placed,
                    const order& fillers, const cache_shape& cache,
                    const random::decisions& drawn) {
  const std::uint64_t line = cache.line;
  const std::uint64_t sets = cache.sets();
  random::decision next = drawn.named("next of equal gaps");
  std::vector<order> waiting(sets);  // by the set that they begin with
  for (const begin_at& each : placed) waiting[each.set].push_back(each.procedure);
  addresses where(recorded.procedures.size());
  std::vector<char> has_place(recorded.procedures.size());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
  std::uint64_t end = first_address;
  const auto put = [&](std::uint32_t procedure, std::uint64_t here) {
    where[procedure] = here;
    has_place[procedure] = 1;
    return here + size_of(recorded, procedure);
  };
  for (std::size_t left = placed.size(); left != 0; --left) {
    std::uint64_t here = aligned(end, line);
    while (waiting[here / line % sets].empty()) here += line;
    order& equal = waiting[here / line % sets];
    std::swap(equal[next.choose(equal.size())], equal.back());
    gaps.emplace_back(end, here);
    end = put(equal.back(), here);
    equal.pop_back();
  }
  std::erase_if(gaps, [](const auto& each) { return each.second - each.first < alignment; });
  for (const std::uint32_t procedure : fillers) {
    const auto gap = std::ranges::find_if(gaps, [&](const auto& each) {
      return aligned(each.first, alignment) + size_of(recorded, procedure) <= each.second;
    });
    std::uint64_t& from = gap == gaps.end() ? end : gap->first;
    from = put(procedure, aligned(from, alignment));
  }
  append(recorded, without(all_of(recorded), has_place), end, where);
  return where;
}

order order_of(const addresses& where) {
  order all(where.size());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::sort(all, {}, [&](std::uint32_t each) { return std::pair(where[each], each); });
  return all;
}

}  // namespace assay::layout
