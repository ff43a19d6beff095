#include <assay/maps/ticket_bst.h>

#include <cstdio>
#include <string>

int main() {
  assay::ticket_bst<std::string, int> ages;
  auto handle = ages.attach();
  handle.insert("Ada", 36);
  handle.insert("Alan", 41);
  handle.erase("Alan");
  ages.for_each(
      [](const std::string& name, int age) { std::printf("%s %d\n", name.c_str(), age); });
}
