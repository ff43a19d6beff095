// The operations that a trial's threads would perform, as text: what the pictures of
// docs/guide/distributions.md are made from.
//
//     drawn_operations 1000 < request.json
//
// Reads a trial request, and writes for each of the given number of operations of each thread a
// line with the thread's number, the operation and its key. Generators that are told of their last
// batch, here of 128 operations, hear that it was performed.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "assay/trial/request.h"
#include "assay/trial/streams.h"
#include "assay/workload/generator.h"
#include "assay/workload/key_space.h"

namespace {

void write_operations(const assay::trial::request& request, std::size_t count) {
  using assay::workload::operation_batch;
  using namespace assay::trial;
  const assay::workload::key_space space(
      request.key_range, request.keys, assay::random::derive_seed(request.seed, key_space_stream));
  unsigned thread = 0;
  for (const auto& role : request.roles) {
    for (unsigned i = 0; i < role.threads; ++i, ++thread) {
      const auto next = assay::workload::make_generator(
          space, role.work,
          assay::random::derive_seed(thread_seed(request.seed, thread), measured_stream),
          {thread, request.threads()});
      operation_batch batch;
      for (std::size_t left = count; left > 0; left -= batch.size) {
        next->fill(batch, std::min<std::size_t>(left, 128));
        for (std::size_t j = 0; j < batch.size; ++j) {
          const auto kind = static_cast<std::size_t>(batch.kinds[j]);
          std::cout << thread << ' ' << assay::workload::operation_names[kind] << ' '
                    << batch.keys[j] << '\n';
        }
        if (next->wants_to_be_told()) next->told(batch, batch.size);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw assay::trial::bad_request("the only argument is the number of operations");
  std::ostringstream text;
  text << std::cin.rdbuf();
  write_operations(assay::trial::parse_request(text.str()), std::stoul(argv[1]));
  std::cout << std::flush;
  return std::cout ? 0 : 1;
} catch (const assay::trial::bad_request& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
