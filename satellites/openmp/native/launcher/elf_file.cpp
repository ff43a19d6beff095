#include "launcher/elf_file.h"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "assay/input/bad_request.h"

namespace assay::omp {
namespace {

class content {
 public:
  explicit content(const std::filesystem::path& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.resize(std::filesystem::file_size(path));
    file.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    if (!file) throw bad_request(path.string() + ": cannot be read");
  }

  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    T value;
    require(offset <= bytes_.size() && bytes_.size() - offset >= sizeof value);
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  // The entry of a table whose entries have the size of a T.
  template <class T>
  [[nodiscard]] T entry(std::uint64_t table, std::uint64_t number) const {
    require(table <= bytes_.size() && number <= bytes_.size() / sizeof(T));
    return at<T>(table + number * sizeof(T));
  }

  [[nodiscard]] std::string text(std::uint64_t offset) const {
    require(offset < bytes_.size());
    return bytes_.c_str() + offset;  // NOLINT(*-pointer-arithmetic): std::string ends in a zero
  }

 private:
  void require(bool whole) const {
    if (!whole) throw bad_request(path_.string() + ": is damaged: a table leaves the file");
  }

  std::filesystem::path path_;
  std::string bytes_;
};

void take_symbol(const content& file, const Elf64_Sym& symbol, const Elf64_Shdr& names,
                 elf_file& found) {
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  if (symbol.st_shndx != SHN_UNDEF) {
    found.defined.insert(file.text(names.sh_offset + symbol.st_name));
  } else if (binding == STB_GLOBAL) {  // a weak one may stay undefined
    found.undefined.insert(file.text(names.sh_offset + symbol.st_name));
  }
}

}  // namespace

elf_file read_elf(const std::filesystem::path& path) {
  const content file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  elf_file found;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto part = file.entry<Elf64_Phdr>(header.e_phoff, i);
    if (part.p_type == PT_INTERP) found.loader = file.text(part.p_offset);
  }
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = file.entry<Elf64_Shdr>(header.e_shoff, i);
    if (section.sh_type != SHT_DYNAMIC && section.sh_type != SHT_DYNSYM) continue;
    const auto names = file.entry<Elf64_Shdr>(header.e_shoff, section.sh_link);
    if (section.sh_type == SHT_DYNAMIC) {
      for (std::uint64_t j = 0; j < section.sh_size / sizeof(Elf64_Dyn); ++j) {
        const auto dynamic = file.entry<Elf64_Dyn>(section.sh_offset, j);
        if (dynamic.d_tag == DT_NEEDED) {
          found.needed.insert(file.text(names.sh_offset + dynamic.d_un.d_val));
        }
      }
    } else {
      for (std::uint64_t j = 1; j < section.sh_size / sizeof(Elf64_Sym); ++j) {
        take_symbol(file, file.entry<Elf64_Sym>(section.sh_offset, j), names, found);
      }
    }
  }
  return found;
}

}  // namespace assay::omp
