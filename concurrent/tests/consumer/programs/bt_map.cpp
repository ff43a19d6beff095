#include <assay/maps/bt_map.h>

#include <cstdio>
#include <string>

int main() {
  assay::bt_map<std::string, int> ages;
  auto handle = ages.attach();
  handle.insert("Ada", 36);
  handle.insert("Alan", 41);
  handle.update("Alan", [](int age) { return age + 1; });
  handle.range("A", "B",
               [](const std::string& name, int age) { std::printf("%s %d\n", name.c_str(), age); });
}
