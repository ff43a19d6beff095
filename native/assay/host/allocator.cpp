#include "assay/host/allocator.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <cstddef>
#include <optional>
#include <stdexcept>

namespace assay::host {
namespace {

// The file that a symbol of this process is in.
std::optional<std::string> object_of(const char* symbol) {
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  Dl_info found{};
  if (address == nullptr || dladdr(address, &found) == 0) return std::nullopt;
  return found.dli_fname;
}

template <class Function>
Function* function(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, symbol));
}

std::string jemalloc_version() {
  struct {
    const char* text = "";
  } version;  // what jemalloc fills is a pointer, which it takes as void*
  std::size_t size = sizeof version;
  function<int(const char*, void*, std::size_t*, void*, std::size_t)>("mallctl")(
      "version", &version, &size, nullptr, 0);
  return version.text;
}

}  // namespace

allocator allocator_in_use() {
  const auto library = object_of("malloc");
  if (!library) throw std::runtime_error("the dynamic linker does not know where malloc is");
  // Known by a function that only it has, from the same file.
  const auto serves = [&](const char* symbol) { return object_of(symbol) == library; };
  if (serves("mallctl")) return {"jemalloc", jemalloc_version(), *library};
  if (serves("mi_version")) {
    return {"mimalloc", std::to_string(function<int()>("mi_version")()), *library};
  }
  if (serves("tc_version")) {
    const auto version = function<const char*(int*, int*, const char**)>("tc_version");
    return {"tcmalloc", version(nullptr, nullptr, nullptr), *library};
  }
  if (serves("gnu_get_libc_version")) return {"glibc", gnu_get_libc_version(), *library};
  return {*library, "", *library};
}

void require_allocator(std::string_view name) {
  const allocator found = allocator_in_use();
  if (found.name == name) return;
  throw std::invalid_argument("the allocator must be " + std::string(name) + ", but malloc is " +
                              (found.name == found.library ? "" : found.name + "'s, ") + "in " +
                              found.library + "; load it by LD_PRELOAD, as `assay run` does");
}

}  // namespace assay::host
