#include "shared.h"

int main() {
  shared_map map;
  fill(map);
  return map.attach().contains(1) ? 0 : 1;
}
