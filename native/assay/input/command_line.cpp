#include "assay/input/command_line.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include "assay/input/bad_request.h"
#include "assay/input/message.h"

namespace assay::input {
namespace {

std::span<char* const> words(int argc, char** argv) {
  return {argv, static_cast<std::size_t>(argc)};
}

}  // namespace

void require_printed() {
  errno = 0;
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const std::string why = errno == 0 ? "" : ": " + std::generic_category().message(errno);
  throw std::runtime_error("cannot write to standard output" + why);
}

std::optional<int> parse(CLI::App& app, int argc, char** argv) try {
  app.parse(argc, argv);
  return std::nullopt;
} catch (const CLI::Success& answer) {
  const int status = app.exit(answer);
  require_printed();
  return status;
} catch (const CLI::ParseError& mistake) {
  print_error(mistake.what(), words(argc, argv));
  return 2;
}

int run(CLI::App& app, int argc, char** argv, const std::function<void()>& work) try {
  if (const auto status = parse(app, argc, argv)) return *status;
  work();
  require_printed();
  return 0;
} catch (const bad_request& error) {
  print_error(error.what(), words(argc, argv));
  return 2;
} catch (const std::bad_alloc&) {
  print_error("out of memory");
  return 1;
} catch (const std::exception& error) {
  print_error(error.what(), words(argc, argv));
  return 1;
}

}  // namespace assay::input
