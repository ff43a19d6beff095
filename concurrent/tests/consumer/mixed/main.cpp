#include "shared.h"

int main() {
  container shared;
  use(shared);
}
