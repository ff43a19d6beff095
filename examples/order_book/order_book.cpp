// The two sides of an order book, as arrays and as maps: which takes less time for a stream of
// changes, after each of which the best prices are asked for? The question is that of the posts "On
// Benchmarking" (2017).

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

#include "assay/fixture/fixture.h"
#include "stream.h"

// One side in a std::map, the best price first.
template <class Better>
class map_side {
 public:
  void add(std::int32_t price, std::int32_t lots) {
    const auto at = levels_.try_emplace(price, 0).first;
    at->second += lots;
    if (at->second == 0) levels_.erase(at);
  }
  std::int32_t best() const { return levels_.empty() ? 0 : levels_.begin()->first; }

 private:
  std::map<std::int32_t, std::int32_t, Better> levels_;
};

// One side in a sorted array, the best price last: most changes are near it, and move little.
template <class Better>
class array_side {
 public:
  void add(std::int32_t price, std::int32_t lots) {
    const auto worse = [](const level& a, std::int32_t b) { return Better()(b, a.price); };
    const auto at = std::lower_bound(levels_.begin(), levels_.end(), price, worse);
    if (at == levels_.end() || at->price != price) {
      levels_.insert(at, {price, lots});
    } else if ((at->lots += lots) == 0) {
      levels_.erase(at);
    }
  }
  std::int32_t best() const { return levels_.empty() ? 0 : levels_.back().price; }

 private:
  struct level {
    std::int32_t price;
    std::int32_t lots;
  };
  std::vector<level> levels_;
};

// `size` is how far from the middle of the market there are orders, in ticks. A call feeds the
// whole stream to an empty book, and returns how many changes that were.
template <template <class> class Side>
class feed {
 public:
  explicit feed(const assay::fixture::setup& given)
      : stream_(draw_stream(static_cast<std::size_t>(given.number("changes", 10'000)),
                            static_cast<double>(given.size), given.seed)) {
    // What the stream leaves behind must be what a plain map says: nothing unchecked is timed.
    std::map<std::int32_t, std::int32_t> bought;
    for (const change& next : stream_) {
      if (next.which == side::buy && (bought[next.price] += next.lots) == 0)
        bought.erase(next.price);
    }
    set_up();
    run();
    if (buys_.best() != (bought.empty() ? 0 : bought.rbegin()->first)) {
      throw std::logic_error("the book has another best price than a plain map");
    }
  }
  void set_up() {
    buys_ = {};
    sells_ = {};
  }
  std::size_t run() {
    for (const change& next : stream_) {
      if (next.which == side::buy) {
        buys_.add(next.price, next.lots);
      } else {
        sells_.add(next.price, next.lots);
      }
      assay::fixture::keep(sells_.best() - buys_.best());
    }
    return stream_.size();
  }

 private:
  std::vector<change> stream_;
  Side<std::greater<>> buys_;
  Side<std::less<>> sells_;
};

static const assay::fixture::registered<feed<map_side>> as_maps{
    "order_book_maps", "both sides as std::map", {16, 256, 4096, 65536}};
static const assay::fixture::registered<feed<array_side>> as_arrays{
    "order_book_arrays", "both sides as sorted arrays", {16, 256, 4096, 65536}};
