// New entropy, from outside the program: what a reseeded engine is reseeded with.
//
//     const std::uint64_t seed = assay::random::system_entropy().draw();
//
// A trial that draws any cannot be replayed, and says so.

#ifndef ASSAY_RANDOM_ENTROPY_H_
#define ASSAY_RANDOM_ENTROPY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::random {

// Where it comes from. Any thread may draw at any time.
class entropy {
 public:
  entropy() = default;
  entropy(const entropy&) = delete;
  entropy& operator=(const entropy&) = delete;
  virtual ~entropy() = default;

  // 64 bits that cannot be guessed from anything drawn before. Throws std::runtime_error if there
  // are none.
  virtual std::uint64_t draw() = 0;

  // Where it comes from, in the order in which it is asked for: "RDSEED, else RDRAND, else
  // getrandom".
  [[nodiscard]] virtual std::string source() const = 0;
};

// One way to entropy, which may fail at any attempt.
struct entropy_way {
  std::string_view name;
  bool (*attempt)(std::uint64_t& number);
  int attempts;  // at most this many, before the next way is taken
};

// The first of several ways that answers, at each draw anew.
class first_to_answer final : public entropy {
 public:
  explicit first_to_answer(std::vector<entropy_way> ways) : ways_(std::move(ways)) {}

  // Throws std::runtime_error if no way answers.
  std::uint64_t draw() override;
  [[nodiscard]] std::string source() const override;

 private:
  std::vector<entropy_way> ways_;
};

// One way alone: "rdseed", "rdrand" or "kernel". None: there is no other name, or the processor
// lacks it.
[[nodiscard]] std::unique_ptr<entropy> entropy_named(std::string_view name);

// RDSEED, else RDRAND, as far as the processor has them, else the kernel's cryptographic generator.
[[nodiscard]] entropy& system_entropy();

}  // namespace assay::random

#endif  // ASSAY_RANDOM_ENTROPY_H_
