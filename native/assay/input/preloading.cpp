#include "assay/input/preloading.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "assay/input/bad_request.h"

// NOLINTBEGIN(concurrency-mt-unsafe): see the header
namespace assay::input {

namespace fs = std::filesystem;

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "/usr/bin:/bin";
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    const fs::path one = fs::path(left.substr(0, end)) / name;
    if (::access(one.c_str(), X_OK) == 0) return one;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  throw bad_request(name + ": is in no directory of PATH; give its path, such as ./" + name);
}

void require_loadable(const fs::path& program) {
  const std::string name = program.string();
  struct stat about{};
  if (::stat(program.c_str(), &about) != 0) {
    throw bad_request(name + ": " + std::generic_category().message(errno));
  }
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    throw bad_request(name +
                      ": is not a program for x86-64; of a script, name the program that runs it");
  }
  if (::access(program.c_str(), X_OK) != 0) {
    throw bad_request(name + ": is not executable; run chmod +x on it");
  }
  if ((about.st_mode & (S_ISUID | S_ISGID)) != 0) {
    throw bad_request(name +
                      ": is setuid or setgid, and no library can be loaded into it; run a copy");
  }
  if (::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0) {
    throw bad_request(name +
                      ": has capabilities, and no library can be loaded into it; run a copy");
  }
  bool has_loader = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    has_loader = has_loader || (file && part.p_type == PT_INTERP);
  }
  if (!has_loader) {
    throw bad_request(
        name +
        ": is linked statically, and no library can be loaded into it; link it without -static");
  }
}

void preload(const fs::path& library) {
  if (!fs::exists(library)) {
    throw bad_request(library.string() + ": is not there; run make build");
  }
  if (library.string().find_first_of(" :") != std::string::npos) {
    throw bad_request(library.string() +
                      ": nothing is preloaded from a path with a space or colon; build elsewhere");
  }
  put_before("LD_PRELOAD", library.string(), ':');
}

void put_before(const char* variable, const std::string& value, char separator) {
  const char* const given = std::getenv(variable);
  const std::string whole = given != nullptr && *given != '\0' ? value + separator + given : value;
  ::setenv(variable, whole.c_str(), 1);
}

void replace_by(const fs::path& program, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw bad_request(program.string() + ": " + std::generic_category().message(errno));
}

}  // namespace assay::input
// NOLINTEND(concurrency-mt-unsafe)
