// What a program executed, in order: blocks of code, each a part of a procedure, so that it can be
// asked what the same execution would have cost had the procedures stood elsewhere (replay.h).
//
// A trace is one file: a line of JSON that names the program, its build id and its procedures; the
// executed blocks, compressed by Zstandard; the table of blocks; and a last line with the counts of
// both, without which the file is truncated.

#ifndef ASSAY_LAYOUT_TRACE_H_
#define ASSAY_LAYOUT_TRACE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace assay::layout {

struct procedure {
  std::string name;           // of one procedure alone
  std::uint64_t address = 0;  // where it was linked
  std::uint32_t bytes = 0;
  bool movable = true;  // by a linker; not so .plt and the like, which come last
};

// Code that is executed from its first instruction to its last.
struct block {
  std::uint32_t procedure = 0;
  std::uint32_t offset = 0;  // bytes, from the begin of the procedure
  std::uint16_t bytes = 0;
  std::uint16_t instructions = 0;
};

struct trace {
  std::string program;   // its path when it was recorded
  std::string build_id;  // hexadecimal, empty if it had none
  std::vector<procedure> procedures;
  std::vector<block> blocks;
  std::vector<std::uint32_t> executed;  // blocks, by their numbers
  std::uint64_t instructions = 0;       // of `executed`
  std::uint64_t outside = 0;            // instructions in no procedure, which are left out
};

// Throws bad_request if the file cannot be read, is no trace, or is truncated or damaged.
[[nodiscard]] trace read_trace(const std::filesystem::path& path);

// What `recorded` executes, to be written in parts. Throws std::system_error if it cannot be
// written.
class trace_writer {
 public:
  // `header`: one line of JSON with `program`, `build_id` and `procedures`.
  trace_writer(const std::filesystem::path& path, const std::string& header);
  ~trace_writer();

  void add(std::uint32_t executed);
  // Until then the file is truncated.
  void finish(const std::vector<block>& blocks, std::uint64_t outside);

 private:
  struct stream;
  std::unique_ptr<stream> to_;
};

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_TRACE_H_
