#include "assay/input/command_line.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <new>

#include "assay/input/bad_request.h"

namespace assay::input {

std::optional<int> parse(CLI::App& app, int argc, char** argv) try {
  app.parse(argc, argv);
  return std::nullopt;
} catch (const CLI::Success& answer) {
  return app.exit(answer);
} catch (const CLI::ParseError& mistake) {
  std::cerr << "error: " << mistake.what() << '\n';
  return 2;
}

int run(CLI::App& app, int argc, char** argv, const std::function<void()>& work) try {
  if (const auto status = parse(app, argc, argv)) return *status;
  work();
  return 0;
} catch (const bad_request& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 2;
} catch (const std::bad_alloc&) {
  std::cerr << "error: out of memory\n";
  return 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}

}  // namespace assay::input
