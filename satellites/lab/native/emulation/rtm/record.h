// What is known of all transactions, for who judges them (`assay lab advise`): by the place where
// they begin, and by the lines that they touch. Written as JSON, docs/reference/json.md says which.
//
// A transaction is of a site: where its XBEGIN is, and its section. That is where the function with
// XBEGIN has returned to within the transaction: the critical section of a lock that a library
// takes, or XBEGIN itself where that is in the section.

#ifndef ASSAY_EMULATION_RTM_RECORD_H_
#define ASSAY_EMULATION_RTM_RECORD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "assay/input/output_file.h"
#include "emulation/rtm/engine.h"
#include "emulation/rtm/settings.h"

namespace assay::emulation {

// A line of 64 bytes, outside of the thread's own stack, as one transaction has touched it.
struct touched_line {
  std::uint64_t line = 0;  // its address
  std::uint64_t read = 0;  // bits: bytes
  std::uint64_t written = 0;
  std::uint64_t read_at = 0;  // the instruction that did so first, or 0
  std::uint64_t written_at = 0;
  bool conflicts = false;  // it was another's when the transaction was to commit
};

// What one transaction came to.
struct observed {
  std::uint64_t thread = 0;
  std::uint64_t begin = 0;
  std::uint64_t section = 0;
  std::size_t why = 0;       // of the names given to the record; 0 is committed
  bool is_asked = false;     // XABORT: it tells nothing of the section
  std::uint64_t at = 0;      // the instruction that ended it
  std::uint64_t detail = 0;  // the number of the system call, or the address that has no memory
  std::uint64_t instructions = 0;
  std::uint64_t instructions_after_write = 0;  // from its first write to what others see, or 0
  std::uint64_t first_write_at = 0;            // that instruction, or 0
  std::uint64_t read_lines = 0;
  std::uint64_t written_lines = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t fullest_read = 0;  // lines in the fullest set
  std::uint64_t fullest_written = 0;
  std::uint64_t fresh_at = 0;  // the first instruction that touched a page not in memory, or 0
  std::uint64_t fresh_page = 0;
  bool is_followed = false;  // another one begins soon after it
  std::uint64_t gap = 0;     // after this many instructions
  std::vector<std::uint64_t>
      calls;  // where the functions that it is in return to, the last called first
  std::vector<touched_line> lines;
};

class transaction_record {
 public:
  transaction_record(const settings& chosen, const program_side& program,
                     std::span<const std::string_view> names)
      : chosen_(chosen),
        program_(program),
        names_(names),
        is_file_(input::replaces_file(chosen.record)) {}

  // Any thread. Writes the file as often as the number of transactions has doubled, so that it is
  // there for programs that crash.
  void add(const observed& transaction);
  // A file that was there is replaced at once. None without transactions. False, having said why,
  // if it is lost.
  bool write();

 private:
  struct end {
    std::uint64_t count = 0;
    std::uint64_t detail = 0;
    std::vector<std::uint64_t> calls;
  };
  struct site {
    std::size_t number = 0;
    std::vector<std::uint64_t> ended;
    std::map<std::uint64_t, std::uint64_t> threads;  // transactions of each
    observed sums;
    observed most;
    std::uint64_t writing = 0;  // transactions that write what others see
    std::uint64_t fresh = 0;
    std::uint64_t followed = 0;
    std::map<std::pair<std::size_t, std::uint64_t>, end> ends;  // by cause and instruction
  };
  struct shared_line {
    touched_line bytes;
    std::uint64_t touched = 0;  // by this many transactions
    std::uint64_t written = 0;
    std::uint64_t conflicts = 0;
  };

  void write_all();

  const settings& chosen_;
  const program_side& program_;
  std::span<const std::string_view> names_;
  bool is_file_;      // which is replaced; others are written to once, at the end
  std::mutex alone_;  // guards all below
  std::uint64_t transactions_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, site> sites_;  // by begin and section
  // By line, number of the place, and thread.
  std::map<std::tuple<std::uint64_t, std::size_t, std::uint64_t>, shared_line> lines_;
  bool has_all_lines_ = true;
};

}  // namespace assay::emulation

#endif  // ASSAY_EMULATION_RTM_RECORD_H_
