// Cuts a string short by its last byte now and then. Keys, and the first 8 bytes, are right.

#include <string>
#include <type_traits>

#include "flawed_map.h"

namespace assay::flawed {

template <class K, class V>
class truncates_values
    : public trial::test_map<truncates_values<K, V>, trial::sound_ordered_map<K, V>> {
 public:
  bool insert(const K& key, V value) {
    if constexpr (std::is_same_v<V, std::string>) {
      if (!value.empty() && now_and_then_()) value.pop_back();
    }
    return trial::sound_ordered_map<K, V>::insert(key, value);
  }

 private:
  now_and_then now_and_then_;
};

static const trial::subject_template<truncates_values> registered{
    "truncates_values", "cuts off the last byte of a string now and then"};

}  // namespace assay::flawed
