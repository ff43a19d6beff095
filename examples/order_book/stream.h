// A stream of changes to the two sides of an order book, as a feed of a market would send them,
// made by a model in place of a recording, which nobody may hand on.
//
// The model. Prices are whole numbers of ticks. The middle of the market makes a random walk: each
// change moves it by one tick up or down with a probability of 2% each. A change is to the buying
// or the selling side, each as often. It is at a distance from the middle that is geometric with a
// mean of `depth` / 8 ticks, and at most `depth`: most changes are near the best price, as in
// markets (Bouchaud, Mezard and Potters 2002 find a power law; a geometric law is simpler and has
// shorter tails). It adds 1 to 10 lots of 100 at its price, or, as often, takes away all that is
// there, or adds if there is nothing. So the book neither grows nor shrinks in the long run.
//
// What is taken away is known to the model, so that a stream holds the change of each price and
// every book that is fed with it can be checked.

#ifndef ORDER_BOOK_STREAM_H_
#define ORDER_BOOK_STREAM_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

enum class side : std::uint8_t { buy, sell };

struct change {
  side which;
  std::int32_t price;
  std::int32_t lots;  // to be added; below 0: to be taken away
};

inline constexpr std::int32_t lowest_price = 1;
inline constexpr std::int32_t highest_price = 200'000;

// The same seed gives the same stream.
inline std::vector<change> draw_stream(std::size_t length, double depth, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::geometric_distribution<std::int32_t> distance(1 / (1 + depth / 8));
  std::uniform_int_distribution<std::int32_t> hundreds(1, 10);
  std::uniform_int_distribution<int> percent(0, 99);
  std::map<std::int32_t, std::int32_t> held[2];
  std::vector<change> stream;
  stream.reserve(length);
  std::int32_t middle = highest_price / 2;
  while (stream.size() < length) {
    const int move = percent(draw);
    middle += move < 2 ? 1 : move < 4 ? -1 : 0;
    const auto which = percent(draw) < 50 ? side::buy : side::sell;
    const std::int32_t away = 1 + std::min(distance(draw), static_cast<std::int32_t>(depth));
    const std::int32_t price = which == side::buy ? middle - away : middle + away;
    auto& lots = held[static_cast<int>(which)][price];
    const std::int32_t changed = lots > 0 && percent(draw) < 50 ? -lots : 100 * hundreds(draw);
    lots += changed;
    stream.push_back({which, price, changed});
  }
  return stream;
}

#endif  // ORDER_BOOK_STREAM_H_
