#include "assay/trial/weights_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "assay/random/hash.h"

namespace assay::trial {

std::string digest_of(std::string_view bytes) {
  const std::uint64_t hash = random::hash_of(bytes);
  std::array<char, 19> text;
  std::snprintf(text.data(), text.size(), "0x%016jx", std::uintmax_t{hash});
  return text.data();
}

std::vector<double> parse_weights(std::string_view text) {
  std::vector<double> weights;
  bool any = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    double weight = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), weight);
    if (error != std::errc() || rest != line.data() + line.size() || !std::isfinite(weight) ||
        weight < 0) {
      throw std::invalid_argument("line " + std::to_string(number) +
                                  " must be one number that is not negative");
    }
    weights.push_back(weight);
    any = any || weight > 0;
  }
  if (weights.empty()) throw std::invalid_argument("there is no number in it");
  if (!any) throw std::invalid_argument("all its numbers are 0: no key would ever be drawn");
  return weights;
}

std::vector<double> read_weights(const std::string& path, std::string_view digest) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  std::array<char, 1 << 16> block;
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    bytes.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) {  // it could not be opened, or not be read to its end
    throw std::invalid_argument("cannot be read: " + std::generic_category().message(errno));
  }
  if (const std::string found = digest_of(bytes); found != digest) {
    throw std::invalid_argument("has the digest " + found + ", not " + std::string(digest) +
                                ": it is not the file that the experiment was planned with");
  }
  return parse_weights(bytes);
}

}  // namespace assay::trial
