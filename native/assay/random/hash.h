// FNV-1a of 64 bits (Fowler, Noll and Vo 1991): a hash for names and digests, not against attacks.

#ifndef ASSAY_RANDOM_HASH_H_
#define ASSAY_RANDOM_HASH_H_

#include <cstdint>
#include <string_view>

namespace assay::random {

[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace assay::random

#endif  // ASSAY_RANDOM_HASH_H_
