#include <map>
#include <mutex>

#include "locked_map.h"

template <class K, class V>
using std_map_mutex = locked_map<std::map<K, V>, std::mutex>;

static const assay::subject::map_template<std_map_mutex> registered{
    "std_map_mutex", "std::map behind one std::mutex; every operation is atomic", "at once"};
