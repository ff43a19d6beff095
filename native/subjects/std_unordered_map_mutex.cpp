#include <mutex>
#include <unordered_map>

#include "locked_map.h"

template <class K, class V>
using std_unordered_map_mutex = locked_map<std::unordered_map<K, V>, std::mutex>;

static const assay::subject::map_template<std_unordered_map_mutex> registered{
    "std_unordered_map_mutex",
    "std::unordered_map behind one std::mutex; every operation is atomic", "at once"};
