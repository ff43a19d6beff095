// bt_map as a multimap, to compare the ELB-tree's with: an element's key is a key and a value.

#include <cstdint>
#include <optional>
#include <utility>

#include "assay/maps/bt_map.h"
#include "assay/subject/probed_reclaim.h"
#include "assay/subject/subject.h"

struct policies : assay::bt_policies<std::uint64_t> {
  using reclaim = assay::probed::epochs;
};

template <class K, class V>
class bt_multimap {
  using map = assay::bt_map<std::uint64_t, std::uint8_t, policies>;
  static_assert(sizeof(K) + sizeof(V) <= sizeof(std::uint64_t));
  static constexpr unsigned value_bits = 8 * sizeof(V);

  static std::uint64_t packed(K key, V value) { return std::uint64_t{key} << value_bits | value; }
  static K key_in(std::uint64_t packed) { return static_cast<K>(packed >> value_bits); }
  static V value_in(std::uint64_t packed) { return static_cast<V>(packed); }

 public:
  class handle {
   public:
    explicit handle(map& all) : in_(all.attach()) {}

    void insert(K key, V value) { in_.insert(packed(key, value), 0); }
    [[gnu::always_inline]] std::optional<V> find(K key) {
      const auto met = in_.lower_bound(packed(key, 0));
      if (!met || key_in(met->first) != key) return std::nullopt;
      return value_in(met->first);
    }
    [[gnu::always_inline]] std::optional<std::pair<K, V>> erase_from(K key) {
      while (const auto met = in_.lower_bound(packed(key, 0))) {
        if (in_.erase(met->first)) return std::pair(key_in(met->first), value_in(met->first));
      }
      return std::nullopt;
    }

   private:
    map::handle in_;
  };

  handle attach() { return handle(all_); }

  template <class Visit>
  void for_each(Visit&& visit) {
    all_.for_each(
        [&](std::uint64_t packed, std::uint8_t) { visit(key_in(packed), value_in(packed)); });
  }

 private:
  map all_;
};

static const assay::subject::bag<bt_multimap, std::uint32_t> registered{
    "bt_multimap", "assay::bt_map as a multimap: its keys are keys with values", "epochs"};
