// What a program or library says of itself to the loader.

#ifndef LAUNCHER_ELF_FILE_H_
#define LAUNCHER_ELF_FILE_H_

#include <filesystem>
#include <set>
#include <string>

namespace assay::omp {

struct elf_file {
  std::string loader;               // which starts it; empty: a library
  std::set<std::string> needed;     // libraries, by their names
  std::set<std::string> undefined;  // symbols that it must get from others
  std::set<std::string> defined;    // symbols that it has for others
};

// Throws bad_request if the file cannot be read, or is damaged.
[[nodiscard]] elf_file read_elf(const std::filesystem::path& path);

}  // namespace assay::omp

#endif  // LAUNCHER_ELF_FILE_H_
