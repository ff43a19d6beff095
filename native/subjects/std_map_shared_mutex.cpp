#include <map>
#include <shared_mutex>

#include "locked_map.h"

template <class K, class V>
using std_map_shared_mutex = locked_map<std::map<K, V>, std::shared_mutex>;

static const assay::subject::map_template<std_map_shared_mutex> registered{
    "std_map_shared_mutex", "std::map behind one std::shared_mutex; every operation is atomic",
    "at once"};
