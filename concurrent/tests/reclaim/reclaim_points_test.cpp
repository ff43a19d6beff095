// What happens when others run at the worst moment, in programs compiled with marked points: there
// one thread plays all parts.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "assay/base/point.h"
#include "assay/reclaim/epochs.h"
#include "tests/reclaim/reclaim_test_nodes.h"

namespace assay::reclaim {
namespace {

// Runs something once, when the thread first passes a point.
class at_point {
 public:
  at_point(std::string_view point, std::function<void()> call) {
    wanted = point;
    planned = std::move(call);
    sync::at_points = [](const char* passed) {
      if (passed == wanted && planned) std::exchange(planned, nullptr)();
    };
  }
  ~at_point() { sync::at_points = nullptr; }
  at_point(const at_point&) = delete;
  at_point& operator=(const at_point&) = delete;

  static bool passed() { return !planned; }

 private:
  static inline std::string_view wanted;
  static inline std::function<void()> planned;
};

struct always_attentive : epochs_settings {
  static constexpr std::int32_t period = 1;
};

// A participant has read the epoch and is about to look at the others, when the epoch advances and
// another retires at the new one, and leaves. Its node goes into the bag of the new epoch, not into
// what the first participant still takes for one long gone.
TEST(epochs_adoption, keeps_what_was_retired_at_a_newer_epoch_than_the_adopter_knew) {
  using domain_type = basic_epochs<always_attentive>;
  bool freed = false;
  domain_type domain;
  atomic<node*> root{new node};
  root.load()->tell(freed);
  auto adopter = domain.join();
  auto writer = std::make_optional(domain.join());
  auto reader = domain.join();
  auto advancing = domain.join();
  retire(adopter, 1);  // a reason to advance the epoch, for each of the two
  retire(advancing, 1);

  std::unique_ptr<domain_type::guard> reading;
  const at_point newly_retired("epochs_before_adoption", [&] {
    advancing.pin();  // advances the epoch
    // NOLINTNEXTLINE(modernize-make-unique): a guard cannot be moved
    reading.reset(new domain_type::guard(reader.pin()));
    reading->protect(0, root);
    writer->pin().retire(root.exchange(nullptr));
    writer.reset();
  });
  adopter.pin();
  EXPECT_TRUE(at_point::passed());
  EXPECT_FALSE(freed);
  reading.reset();
  for (int i = 0; i < 10; ++i) adopter.pin();
  EXPECT_TRUE(freed);
}

}  // namespace
}  // namespace assay::reclaim
