// The operations that a trial's threads would perform, as text: what the pictures of
// docs/guide/distributions.md are made from.
//
//     drawn_operations 1000 < request.json
//
// Reads a trial request, and writes for each of the given number of operations of each thread a
// line with the thread's number, the operation and its key. Generators that want feedback on their
// last batch, here of 128 operations, are told that it was performed.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <stdexcept>

#include "assay/input/command_line.h"
#include "assay/input/json.h"
#include "assay/trial/request.h"
#include "assay/workload/generator.h"
#include "assay/workload/key_space.h"
#include "assay/workload/operations.h"
#include "assay/workload/streams.h"

namespace {

void write_operations(const assay::trial::request& request, std::size_t count) {
  namespace random = assay::random;
  namespace workload = assay::workload;
  const workload::key_space space(request.key_range, request.keys,
                                  random::derive_seed(request.seed, workload::key_space_stream));
  unsigned thread = 0;
  for (const auto& role : request.roles) {
    for (unsigned i = 0; i < role.threads; ++i, ++thread) {
      const auto next =
          workload::make_generator(space, role.work,
                                   random::derive_seed(workload::thread_seed(request.seed, thread),
                                                       workload::measured_stream),
                                   {thread, request.threads()});
      workload::operation_batch batch;
      for (std::size_t left = count; left > 0; left -= batch.size) {
        next->fill(batch, std::min<std::size_t>(left, 128));
        for (std::size_t j = 0; j < batch.size; ++j) {
          std::cout << thread << ' ' << workload::facts_of(batch.kinds[j]).name << ' '
                    << batch.keys[j] << '\n';
        }
        if (next->wants_feedback()) next->feedback(batch, batch.size);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Write the operations that the threads of the trial on standard input would perform."};
  std::size_t count = 0;
  app.add_option("count", count, "How many operations of each thread")->required();
  return assay::input::run(app, argc, argv, [&] {
    write_operations(assay::trial::parse_request(assay::input::standard_input()), count);
  });
}
