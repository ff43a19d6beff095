// Runs transactions in an emulator of the processor (Unicorn) over copies of the pages that they
// touch, and makes what they wrote everybody's at once.
//
// XBEGIN raises SIGILL where a processor has no RTM. The handler gives the registers to the
// emulator and lets it run until XEND. A page is copied when the transaction first touches it, and
// each of its lines anew when it first touches that line, as what is on the page otherwise may have
// been touched long before; which bytes the transaction read, and which it wrote, is noted. At XEND
// all other threads are stopped (stopped_threads.h). If every byte that was read before it was
// written still is as it was read, the transaction is as if it had happened at this moment: what it
// wrote is written, and the thread goes on behind XEND. Otherwise, or if anything else ends it, the
// thread goes on where XBEGIN says, with the status of an abort in eax, and nothing has happened.
//
// Bytes are compared by value, as Dalessandro et al. (2010, NOrec) do: a byte that was changed and
// changed back is no conflict. A transaction may meet lines of different moments, which hardware
// does not let it see. Nobody can tell: what it does with them is thrown away, whatever it is.

#include "emulation/rtm/engine.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unicorn/unicorn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iomanip>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assay/input/message.h"
#include "assay/input/output_file.h"
#include "assay/random/splitmix64.h"
#include "emulation/rtm/give_up.h"
#include "emulation/rtm/record.h"
#include "emulation/rtm/settings.h"
#include "emulation/rtm/stopped_threads.h"

namespace assay::emulation {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t line_bytes = 64;
constexpr std::size_t most_pages = 8192;  // of one thread; after that it begins anew
constexpr std::uint64_t most_blocks = 1
                                      << 20;  // of code in one transaction: then comes an interrupt
constexpr unsigned most_nested = 7;           // as in Intel's processors
constexpr std::uint64_t farthest_ahead = 200;  // instructions; a lock that adapts has some
constexpr std::size_t stack_bytes = std::size_t{1} << 20U;

// Why a transaction ended, in the order of the report.
enum class ended : std::uint8_t {
  committed,
  conflict,
  capacity,
  asked,
  too_deep,
  breakpoint,
  system_call,
  page_fault,
  exception,
  not_executable,
  too_long,
  signal,
  injected,
};
constexpr std::array<std::string_view, 13> names{
    "committed",  "conflict",    "capacity",   "asked",     "too_deep",
    "breakpoint", "system_call", "page_fault", "exception", "not_executable",
    "too_long",   "signal",      "injected"};

// Bits of eax after an abort (Intel's Software Developer's Manual, volume 1, section 16.3.5).
constexpr std::uint32_t bit_asked = 1U << 0U;
constexpr std::uint32_t bit_again = 1U << 1U;
constexpr std::uint32_t bit_conflict = 1U << 2U;
constexpr std::uint32_t bit_capacity = 1U << 3U;
constexpr std::uint32_t bit_breakpoint = 1U << 4U;
constexpr std::uint32_t bit_nested = 1U << 5U;

std::uint32_t status_of(ended why) {
  switch (why) {
    case ended::conflict:
      return bit_conflict | bit_again;
    case ended::capacity:
      return bit_capacity;
    case ended::asked:
      return bit_asked;
    case ended::breakpoint:
      return bit_breakpoint;
    case ended::injected:
      return bit_again;
    default:
      return 0;
  }
}

// What all threads came to. Relaxed: numbers alone.
struct totals {
  std::array<std::atomic<std::uint64_t>, names.size()> ended{};
  std::atomic<std::uint64_t> most_read_lines{0};
  std::atomic<std::uint64_t> most_written_lines{0};
  // The first instruction that could not be executed, and its bytes.
  std::atomic<bool> has_unknown{false};
  std::uint64_t unknown_at = 0;
  std::array<unsigned char, 8> unknown{};
};

struct alignas(page_bytes) page {
  std::array<std::uint8_t, page_bytes> now;     // what the transaction sees; the emulator's memory
  std::array<std::uint8_t, page_bytes> copied;  // what each line was when it was copied
  std::array<std::uint8_t, page_bytes> at_end;  // what it is when the transaction ends
  std::array<std::uint64_t, page_bytes / 64> read;     // bits: bytes read before they were written
  std::array<std::uint64_t, page_bytes / 64> written;  // bits: bytes written
  std::uint64_t read_lines;
  std::uint64_t written_lines;
  std::uint64_t address;
  std::uint64_t transaction;  // which copied it last
  bool conflicts;
  // The instructions that read and wrote each line first. Only where there is a record.
  std::array<std::uint64_t, page_bytes / line_bytes> read_at;
  std::array<std::uint64_t, page_bytes / line_bytes> written_at;
};

const program_side* program = nullptr;
totals sums;
std::mutex commits;                                     // one thread at a time stops the others
std::array<struct sigaction, NSIG> programs_actions{};  // on signals that are the engine's
// What these refer to is never destroyed: this library is ended before the program's.
settings& chosen = *new settings;
// Where XBEGIN was in the program's code. In order, and unchanged when the program runs.
std::vector<std::uint64_t>& replaced_begins = *new std::vector<std::uint64_t>;
bool has_cpuid = false;  // the kernel has CPUID raise SIGSEGV
transaction_record* kept = nullptr;
int page_map = -1;  // /proc/self/pagemap

// By the calling thread, as the first one may have ended, and with it what the kernel knows by the
// process's number.
bool copy_from(std::uint64_t address, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  // The address is the program's, whether or not there is memory.
  const iovec there{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  return ::process_vm_readv(::gettid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}
bool copy_to(std::uint64_t address, const void* from, std::size_t bytes) {
  const iovec here{const_cast<void*>(from), bytes};            // NOLINT: as readv has it
  const iovec there{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  return ::process_vm_writev(::gettid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

// Those that are the same in a context and in the emulator.
struct register_pair {
  int emulators;
  int contexts;
};
constexpr std::array<register_pair, 17> registers{{
    {UC_X86_REG_RAX, REG_RAX},
    {UC_X86_REG_RBX, REG_RBX},
    {UC_X86_REG_RCX, REG_RCX},
    {UC_X86_REG_RDX, REG_RDX},
    {UC_X86_REG_RSI, REG_RSI},
    {UC_X86_REG_RDI, REG_RDI},
    {UC_X86_REG_RBP, REG_RBP},
    {UC_X86_REG_RSP, REG_RSP},
    {UC_X86_REG_R8, REG_R8},
    {UC_X86_REG_R9, REG_R9},
    {UC_X86_REG_R10, REG_R10},
    {UC_X86_REG_R11, REG_R11},
    {UC_X86_REG_R12, REG_R12},
    {UC_X86_REG_R13, REG_R13},
    {UC_X86_REG_R14, REG_R14},
    {UC_X86_REG_R15, REG_R15},
    {UC_X86_REG_RIP, REG_RIP},
}};
// Carry, parity, adjust, zero, sign, direction, overflow: what programs can set.
constexpr std::uint64_t programs_flags = 0xcd5;
constexpr std::uint64_t zero_flag = 0x40;
constexpr std::uint64_t arithmetic_flags = 0x8d5;

enum class instruction : std::uint8_t { none, begin, end, abort, test };

struct decoded {
  instruction kind = instruction::none;
  std::uint64_t bytes = 0;
  std::int32_t operand = 0;
};

constexpr std::array<unsigned char, 2> xbegin{0xc7, 0xf8};
constexpr std::array<unsigned char, 2> ud2{0x0f, 0x0b};  // which no processor executes
constexpr std::array<unsigned char, 2> cpuid{0x0f, 0xa2};

decoded decode(const std::array<unsigned char, 6>& code) {
  if (std::equal(xbegin.begin(), xbegin.end(), code.begin())) {
    std::int32_t distance = 0;
    std::memcpy(&distance, &code[2], sizeof distance);
    return {instruction::begin, 6, distance};
  }
  if (code[0] == 0xc6 && code[1] == 0xf8) return {instruction::abort, 3, code[2]};
  if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xd5) return {instruction::end, 3};
  if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xd6) return {instruction::test, 3};
  return {};
}

decoded decode_at(std::uint64_t address) {
  std::array<unsigned char, 6> code{};
  if (std::ranges::binary_search(replaced_begins, address)) {
    copy_from(address, code.data(), code.size());
    std::ranges::copy(xbegin, code.begin());
    return decode(code);
  }
  // The last instruction of a page may be shorter.
  for (std::size_t bytes = code.size(); bytes >= 3; bytes -= 3) {
    if (copy_from(address, code.data(), bytes)) return decode(code);
  }
  return {};
}

// Has each XBEGIN of the program's code raise SIGILL, on a processor that would execute it. What
// looks like one is one if what follows is the distance to a place in the same code, which chance
// does about once in a thousand times, and the two bytes are there by chance once in 65,536.
int replace_begins(dl_phdr_info* object, std::size_t /*bytes*/, void* memory_of_process) {
  const int memory = *static_cast<int*>(memory_of_process);
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uint64_t first = object->dlpi_addr + part.p_vaddr;
    std::vector<unsigned char> code(part.p_memsz);
    if (!copy_from(first, code.data(), code.size())) continue;
    auto at = code.begin();
    while ((at = std::search(at, code.end(), xbegin.begin(), xbegin.end())) != code.end()) {
      const auto offset = at - code.begin();
      ++at;
      if (code.end() - at < 5) break;
      std::int32_t distance = 0;
      std::memcpy(&distance, &code[static_cast<std::size_t>(offset) + 2], sizeof distance);
      const std::int64_t target = offset + 6 + distance;
      if (target < 0 || target >= std::ssize(code)) continue;
      const std::uint64_t place = first + static_cast<std::uint64_t>(offset);
      // Unlike a write by the program, this one asks for no permission.
      if (::pwrite(memory, ud2.data(), ud2.size(), static_cast<off_t>(place)) ==
          ssize_t{ud2.size()}) {
        replaced_begins.push_back(place);
      }
    }
  }
  return 0;
}

// One thread's emulator.
class emulator {
 public:
  explicit emulator(std::uint64_t number)
      : number_(number), draw_(random::derive_seed(chosen.seed, number)) {
    if (kept != nullptr) stack_ = program->this_stack();
    open();
  }
  ~emulator() { ::uc_close(engine_); }
  emulator(const emulator&) = delete;
  emulator& operator=(const emulator&) = delete;

  // From XBEGIN, where the context is, to where the thread goes on.
  void run(ucontext_t& context, const decoded& begin) {
    if (pages_.size() > most_pages) {
      ::uc_close(engine_);
      pages_.clear();
      open();
    }
    ++transaction_;
    touched_.clear();
    read_lines_ = written_lines_ = blocks_ = 0;
    std::ranges::fill(read_sets_, 0);
    std::ranges::fill(written_sets_, 0);
    depth_ = 1;
    why_.reset();
    code_ = 0;
    greg_t* const general = context.uc_mcontext.gregs;
    const auto first = static_cast<std::uint64_t>(general[REG_RIP]) + begin.bytes;
    const std::uint64_t otherwise = first + static_cast<std::uint64_t>(std::int64_t{begin.operand});
    if (kept != nullptr) begin_to_observe(context, first - begin.bytes);
    take_registers(context);
    const bool is_injected =
        static_cast<double>(draw_() >> 11U) * 0x1p-53 * 100 < chosen.abort_percent;
    ended why = emulate(first);
    if (why == ended::committed && is_injected) why = ended::injected;
    if (why == ended::committed) why = commit(context);
    if (why == ended::committed) {
      give_registers(context);
    } else {
      general[REG_RIP] = static_cast<greg_t>(otherwise);
      const std::uint32_t nested = depth_ > 1 ? bit_nested : 0;
      general[REG_RAX] = static_cast<greg_t>(status_of(why) | nested | code_ << 24U);
    }
    sums.ended.at(static_cast<std::size_t>(why)).fetch_add(1, std::memory_order_relaxed);
    raise_to(sums.most_read_lines, read_lines_);
    raise_to(sums.most_written_lines, written_lines_);
    if (kept != nullptr) tell(why);
  }

 private:
  static void raise_to(std::atomic<std::uint64_t>& most, std::uint64_t value) {
    std::uint64_t seen = most.load(std::memory_order_relaxed);
    while (seen < value && !most.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  void open() {
    if (::uc_open(UC_ARCH_X86, UC_MODE_64, &engine_) != UC_ERR_OK) throw std::bad_alloc();
    hook(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, reinterpret_cast<void*>(&on_access));
    hook(UC_HOOK_MEM_UNMAPPED | UC_HOOK_MEM_FETCH_PROT, reinterpret_cast<void*>(&on_unmapped));
    hook(UC_HOOK_BLOCK, reinterpret_cast<void*>(&on_block));
    hook(UC_HOOK_INTR, reinterpret_cast<void*>(&on_interrupt));
    if (kept != nullptr) hook(UC_HOOK_CODE, reinterpret_cast<void*>(&on_instruction));
    for (const int kind : {UC_X86_INS_SYSCALL, UC_X86_INS_SYSENTER, UC_X86_INS_CPUID}) {
      uc_hook unused = 0;
      ::uc_hook_add(engine_, &unused, UC_HOOK_INSN, reinterpret_cast<void*>(&on_system_call), this,
                    1, 0, kind);
    }
  }
  void hook(int kinds, void* function) {
    uc_hook unused = 0;
    ::uc_hook_add(engine_, &unused, kinds, function, this, 1, 0);
  }

  void stop(ended why) {
    if (!why_) why_ = why;
    ::uc_emu_stop(engine_);
  }

  // The page as the transaction sees it, or null where there is none.
  page* touch(std::uint64_t address) {
    const std::uint64_t start = address & ~(page_bytes - 1);
    std::unique_ptr<page>& place = pages_[start];
    const bool is_new = place == nullptr;
    const bool is_fresh =
        kept != nullptr && (is_new || place->transaction != transaction_) && !is_in_memory(start);
    if (is_new) place = std::make_unique<page>();
    page& found = *place;
    if (!is_new && found.transaction == transaction_) return &found;
    if (!copy_from(start, found.copied.data(), page_bytes)) {
      if (is_new) pages_.erase(start);
      return nullptr;
    }
    found.now = found.copied;
    found.read.fill(0);
    found.written.fill(0);
    found.read_lines = found.written_lines = 0;
    found.conflicts = false;
    if (is_fresh && seen_.fresh_at == 0) {
      seen_.fresh_at = at_;
      seen_.fresh_page = start;
    }
    found.address = start;
    found.transaction = transaction_;
    touched_.push_back(&found);
    if (is_new && ::uc_mem_map_ptr(engine_, start, page_bytes, UC_PROT_READ | UC_PROT_WRITE,
                                   found.now.data()) != UC_ERR_OK) {
      touched_.pop_back();
      pages_.erase(start);
      return nullptr;
    }
    return &found;
  }

  // A page of which code is executed for the first time.
  void fetch(std::uint64_t address) {
    is_fetched_ = true;
    const page* const found = touch(address);
    if (found == nullptr ||
        ::uc_mem_protect(engine_, found->address, page_bytes, UC_PROT_ALL) != UC_ERR_OK) {
      return stop(ended::page_fault);
    }
    look_for_begins_and_aborts(*found);
  }

  // The emulator takes XBEGIN and XABORT for moves, as processors did that know neither. Wherever
  // their first two bytes are, and should an instruction begin there, it is to stop. It tells of
  // the others by itself.
  void look_for_begins_and_aborts(const page& in) {
    for (std::uint64_t at = 0; at < page_bytes; ++at) {
      if ((in.copied[at] & 0xfeU) != 0xc6) continue;
      std::uint8_t next = 0;
      if (at + 1 < page_bytes) {
        next = in.copied[at + 1];
      } else if (!copy_from(in.address + page_bytes, &next, 1)) {
        continue;
      }
      if (next != 0xf8) continue;
      const std::uint64_t place = in.address + at;
      uc_hook unused = 0;
      ::uc_hook_add(engine_, &unused, UC_HOOK_CODE, reinterpret_cast<void*>(&on_begin_or_abort),
                    this, place, place);
    }
  }
  static void on_begin_or_abort(uc_engine* engine, std::uint64_t /*address*/,
                                std::uint32_t /*bytes*/, void* self) {
    static_cast<emulator*>(self)->is_at_instruction_ = true;
    ::uc_emu_stop(engine);
  }

  // Before the transaction first touches a line. False if the page is no longer there.
  static bool copy_line(page& in, std::uint64_t offset) {
    const std::uint64_t first = offset / line_bytes * line_bytes;
    if (((in.read_lines | in.written_lines) >> offset / line_bytes & 1U) != 0) return true;
    if (!copy_from(in.address + first, &in.copied[first], line_bytes)) return false;
    std::copy_n(&in.copied[first], line_bytes, &in.now[first]);
    return true;
  }

  // Notes bytes as read or written, and says whether the cache has room for their line.
  bool note(page& in, std::uint64_t offset, bool writes) {
    std::uint64_t& written = in.written[offset / 64];
    const std::uint64_t bit = std::uint64_t{1} << offset % 64;
    if (writes) {
      written |= bit;
    } else if ((written & bit) == 0) {
      in.read[offset / 64] |= bit;
    }
    const std::uint64_t line = std::uint64_t{1} << offset / line_bytes;
    std::uint64_t& lines = writes ? in.written_lines : in.read_lines;
    if ((lines & line) != 0) return true;
    lines |= line;
    ++(writes ? written_lines_ : read_lines_);
    (writes ? in.written_at : in.read_at)[offset / line_bytes] = at_;
    const std::uint64_t set = (in.address + offset) / line_bytes % chosen.sets;
    return ++(writes ? written_sets_ : read_sets_)[set] <=
           (writes ? chosen.ways : chosen.read_ways);
  }

  bool access(std::uint64_t address, std::uint64_t bytes, bool writes) {
    if (is_ahead_) return touch(address) != nullptr && touch(address + bytes - 1) != nullptr;
    if (writes && seen_.first_write_at == 0 && !is_on_stack(address)) {
      seen_.first_write_at = at_;
      written_after_ = seen_.instructions;
    }
    seen_.detail = address;
    for (std::uint64_t at = address; at < address + bytes; ++at) {
      page* const in = touch(at);
      if (in == nullptr || !copy_line(*in, at % page_bytes)) {
        stop(ended::page_fault);
        return false;
      }
      if (!note(*in, at % page_bytes, writes)) {
        stop(ended::capacity);
        return false;
      }
    }
    return true;
  }

  static void on_access(uc_engine* /*engine*/, uc_mem_type type, std::uint64_t address, int bytes,
                        std::int64_t /*value*/, void* self) {
    static_cast<emulator*>(self)->access(address, static_cast<std::uint64_t>(bytes),
                                         type == UC_MEM_WRITE);
  }
  static bool on_unmapped(uc_engine* /*engine*/, uc_mem_type type, std::uint64_t address, int bytes,
                          std::int64_t /*value*/, void* self) {
    auto& mine = *static_cast<emulator*>(self);
    if (type == UC_MEM_FETCH_UNMAPPED || type == UC_MEM_FETCH_PROT) {
      mine.fetch(address);
      return false;
    }
    return mine.access(address, static_cast<std::uint64_t>(bytes), type == UC_MEM_WRITE_UNMAPPED);
  }
  static void on_block(uc_engine* /*engine*/, std::uint64_t address, std::uint32_t bytes,
                       void* self) {
    auto& mine = *static_cast<emulator*>(self);
    if (++mine.blocks_ > most_blocks) mine.stop(ended::too_long);
    if (kept != nullptr && !mine.is_ahead_) mine.follow_calls(address, address + bytes);
  }
  static void on_instruction(uc_engine* /*engine*/, std::uint64_t address, std::uint32_t /*bytes*/,
                             void* self) {
    auto& mine = *static_cast<emulator*>(self);
    mine.at_ = address;
    if (!mine.is_ahead_) {
      ++mine.seen_.instructions;
    } else if (++mine.seen_.gap > farthest_ahead) {
      mine.stop(ended::too_long);
    }
  }
  static void on_interrupt(uc_engine* /*engine*/, std::uint32_t number, void* self) {
    constexpr std::uint32_t debug = 1;
    constexpr std::uint32_t breakpoint = 3;
    constexpr std::uint32_t linux_call = 0x80;
    static_cast<emulator*>(self)->stop(number == breakpoint || number == debug ? ended::breakpoint
                                       : number == linux_call                  ? ended::system_call
                                                                               : ended::exception);
  }
  static void on_system_call(uc_engine* /*engine*/, void* self) {
    static_cast<emulator*>(self)->stop(ended::system_call);
  }

  // --- What is recorded ---

  void begin_to_observe(const ucontext_t& context, std::uint64_t begin) {
    seen_ = {};
    seen_.thread = number_;
    seen_.begin = seen_.section = at_ = begin;
    written_after_ = 0;
    calls_.clear();
    last_block_end_ = 0;
    highest_ = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
  }

  [[nodiscard]] bool is_on_stack(std::uint64_t address) const {
    return stack_.first <= address && address < stack_.last;
  }

  // Whether the processor would find the page, or else have the kernel give it one.
  static bool is_in_memory(std::uint64_t start) {
    std::uint64_t about = 0;
    constexpr unsigned present = 63;
    const auto at = static_cast<off_t>(start / page_bytes * sizeof about);
    return ::pread(page_map, &about, sizeof about, at) != ssize_t{sizeof about} ||
           (about >> present & 1U) != 0;
  }

  // A block of code from one address to another begins. A function was called if the address behind
  // the last block is on top of the stack, and has returned if that is no longer there.
  void follow_calls(std::uint64_t first, std::uint64_t last) {
    std::uint64_t top = 0;
    ::uc_reg_read(engine_, UC_X86_REG_RSP, &top);
    while (!calls_.empty() && calls_.back().second < top) calls_.pop_back();
    if (top > highest_) {
      highest_ = top;
      seen_.section = first;
    } else {
      std::uint64_t back = 0;
      const auto in = pages_.find(top & ~(page_bytes - 1));
      const std::uint64_t offset = top % page_bytes;
      if (in != pages_.end() && offset + sizeof back <= page_bytes) {
        std::memcpy(&back, &in->second->now[offset], sizeof back);
        if (back == last_block_end_ && back != first) calls_.emplace_back(back, top);
      }
    }
    last_block_end_ = last;
  }

  // Runs the emulator, and again where it has met a page of code for the first time: it looks
  // whether to stop at an instruction before it fetches that, so would run over an XABORT that
  // begins a page.
  uc_err start_at(std::uint64_t at) {
    for (;;) {
      is_fetched_ = is_at_instruction_ = false;
      const uc_err error = ::uc_emu_start(engine_, at, 0, 0, 0);
      if (why_ || !is_fetched_) return error;
      ::uc_reg_read(engine_, UC_X86_REG_RIP, &at);
    }
  }

  // Goes on behind a transaction that has committed, to where another one begins, if that is near.
  // What it does there is thrown away, and comes again.
  void look_ahead() {
    std::uint64_t from = 0;
    ::uc_reg_read(engine_, UC_X86_REG_RIP, &from);
    is_ahead_ = true;
    why_.reset();
    const uc_err error = start_at(from);
    is_ahead_ = false;
    if (why_ || (error != UC_ERR_INSN_INVALID && !is_at_instruction_)) return;
    ::uc_reg_read(engine_, UC_X86_REG_RIP, &from);
    seen_.is_followed = decode_at(from).kind == instruction::begin;
  }

  void tell(ended why) {
    seen_.why = static_cast<std::size_t>(why);
    seen_.is_asked = why == ended::asked;
    seen_.at = at_;
    if (why == ended::system_call) ::uc_reg_read(engine_, UC_X86_REG_RAX, &seen_.detail);
    if (seen_.first_write_at != 0)
      seen_.instructions_after_write = seen_.instructions - written_after_;
    seen_.read_lines = read_lines_;
    seen_.written_lines = written_lines_;
    seen_.fullest_read = std::ranges::max(read_sets_);
    seen_.fullest_written = std::ranges::max(written_sets_);
    for (const auto& call : std::views::reverse(calls_)) seen_.calls.push_back(call.first);
    for (const page* each : touched_) {
      for (std::uint64_t i = 0; i < page_bytes / line_bytes; ++i) {
        const std::uint64_t line = each->address + i * line_bytes;
        const bool is_read = (each->read_lines >> i & 1U) != 0;
        const bool is_written = (each->written_lines >> i & 1U) != 0;
        seen_.read_bytes += static_cast<std::uint64_t>(std::popcount(each->read[i]));
        if ((!is_read && !is_written) || is_on_stack(line)) continue;
        seen_.lines.push_back({.line = line,
                               .read = each->read[i],
                               .written = each->written[i],
                               .read_at = is_read ? each->read_at[i] : 0,
                               .written_at = is_written ? each->written_at[i] : 0,
                               .conflicts = each->conflicts && !is_line_as_read(*each, i)});
      }
    }
    if (why == ended::committed) look_ahead();
    if (!seen_.is_followed) seen_.gap = 0;
    kept->add(seen_);
  }

  // From an address to the outermost XEND, or to whatever else ends it.
  ended emulate(std::uint64_t from) {
    for (std::uint64_t at = from;;) {
      const uc_err error = start_at(at);
      if (why_) return *why_;
      ::uc_reg_read(engine_, UC_X86_REG_RIP, &at);
      if (error != UC_ERR_INSN_INVALID && !is_at_instruction_) {
        return error == UC_ERR_OK ? ended::exception : ended::page_fault;
      }
      const decoded found = decode_at(at);
      switch (found.kind) {
        case instruction::begin:
          if (depth_ == most_nested) {
            return ended::too_deep;
          }
          ++depth_;
          break;
        case instruction::end:
          if (--depth_ == 0) {
            at += found.bytes;
            ::uc_reg_write(engine_, UC_X86_REG_RIP, &at);
            return ended::committed;
          }
          break;
        case instruction::abort:
          code_ = static_cast<std::uint32_t>(found.operand);
          return ended::asked;
        case instruction::test: {
          std::uint64_t flags = 0;
          ::uc_reg_read(engine_, UC_X86_REG_EFLAGS, &flags);
          flags &= ~arithmetic_flags;
          ::uc_reg_write(engine_, UC_X86_REG_EFLAGS, &flags);
          break;
        }
        case instruction::none:
          note_unknown(at);
          return ended::not_executable;
      }
      at += found.bytes;
    }
  }

  static void note_unknown(std::uint64_t at) {
    std::array<unsigned char, 8> bytes{};
    copy_from(at, bytes.data(), bytes.size());
    if (std::ranges::equal(std::span(bytes).first<2>(), ud2)) return;
    if (sums.has_unknown.exchange(true, std::memory_order_relaxed)) return;
    sums.unknown_at = at;
    sums.unknown = bytes;
  }

  void take_registers(const ucontext_t& context) {
    const greg_t* const general = context.uc_mcontext.gregs;
    for (const register_pair& each : registers) {
      ::uc_reg_write(engine_, each.emulators, &general[each.contexts]);
    }
    const std::uint64_t flags =
        (static_cast<std::uint64_t>(general[REG_EFL]) & programs_flags) | 2U;
    ::uc_reg_write(engine_, UC_X86_REG_EFLAGS, &flags);
    std::uint64_t base = 0;
    ::syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
    ::uc_reg_write(engine_, UC_X86_REG_FS_BASE, &base);
    ::syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    ::uc_reg_write(engine_, UC_X86_REG_GS_BASE, &base);
    const _libc_fpstate& floats = *context.uc_mcontext.fpregs;
    for (int i = 0; i < 16; ++i) {
      ::uc_reg_write(engine_, UC_X86_REG_XMM0 + i, &floats._xmm[i]);
    }
    ::uc_reg_write(engine_, UC_X86_REG_MXCSR, &floats.mxcsr);
    ::uc_reg_write(engine_, UC_X86_REG_FPSW, &floats.swd);  // first: which register is ST0
    ::uc_reg_write(engine_, UC_X86_REG_FPCW, &floats.cwd);
    for (int i = 0; i < 8; ++i) ::uc_reg_write(engine_, UC_X86_REG_ST0 + i, &floats._st[i]);
    std::uint16_t tags = 0;  // two bits for each: 0 in use, 3 not; a context has one, 1 in use
    for (unsigned i = 0; i < 8; ++i) {
      if ((floats.ftw >> i & 1U) == 0) tags = static_cast<std::uint16_t>(tags | 3U << 2 * i);
    }
    ::uc_reg_write(engine_, UC_X86_REG_FPTAG, &tags);
  }

  void give_registers(ucontext_t& context) {
    greg_t* const general = context.uc_mcontext.gregs;
    for (const register_pair& each : registers) {
      ::uc_reg_read(engine_, each.emulators, &general[each.contexts]);
    }
    std::uint64_t flags = 0;
    ::uc_reg_read(engine_, UC_X86_REG_EFLAGS, &flags);
    const auto others = static_cast<std::uint64_t>(general[REG_EFL]) & ~programs_flags;
    general[REG_EFL] = static_cast<greg_t>(others | (flags & programs_flags));
    _libc_fpstate& floats = *context.uc_mcontext.fpregs;
    for (int i = 0; i < 16; ++i) ::uc_reg_read(engine_, UC_X86_REG_XMM0 + i, &floats._xmm[i]);
    ::uc_reg_read(engine_, UC_X86_REG_MXCSR, &floats.mxcsr);
    for (int i = 0; i < 8; ++i) ::uc_reg_read(engine_, UC_X86_REG_ST0 + i, &floats._st[i]);
    ::uc_reg_read(engine_, UC_X86_REG_FPSW, &floats.swd);
    ::uc_reg_read(engine_, UC_X86_REG_FPCW, &floats.cwd);
    std::uint16_t tags = 0;
    ::uc_reg_read(engine_, UC_X86_REG_FPTAG, &tags);
    floats.ftw = 0;
    for (unsigned i = 0; i < 8; ++i) {
      if ((tags >> 2 * i & 3U) != 3) floats.ftw = static_cast<std::uint16_t>(floats.ftw | 1U << i);
    }
    // Where the state was XSAVEd, a part that was as at first is marked so, and would be again.
    constexpr std::size_t magic_at = 464;
    constexpr std::uint32_t magic = 0x46505853;  // FP_XSTATE_MAGIC1
    constexpr std::size_t parts_at = 512;
    constexpr std::uint64_t x87_and_sse = 3;
    auto* const area = reinterpret_cast<unsigned char*>(&floats);
    std::uint32_t found = 0;
    std::memcpy(&found, area + magic_at, sizeof found);
    if (found != magic) return;
    std::uint64_t parts = 0;
    std::memcpy(&parts, area + parts_at, sizeof parts);
    parts |= x87_and_sse;
    std::memcpy(area + parts_at, &parts, sizeof parts);
  }

  // One that the program lets through, which the handler of SIGILL holds back.
  static bool is_signal_pending(const ucontext_t& context) {
    sigset_t pending;
    if (::sigpending(&pending) != 0) return false;
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
      if (::sigismember(&pending, signal) == 1 && ::sigismember(&context.uc_sigmask, signal) == 0) {
        return true;
      }
    }
    return false;
  }

  ended commit(const ucontext_t& context) {
    const std::scoped_lock alone(commits);
    const stopped_threads still;
    // It came while the transaction ran, which it ends.
    if (is_signal_pending(context)) return ended::signal;
    for (page* each : touched_) {
      if (!is_accessed(*each)) continue;  // code
      if (!copy_from(each->address, each->at_end.data(), page_bytes)) return ended::page_fault;
      if (!is_as_read(*each)) {
        each->conflicts = true;
        return ended::conflict;
      }
    }
    for (const page* each : touched_) {
      // What is written once more as it is: whether it may be written.
      const std::size_t at = first_written(*each);
      if (at < page_bytes && !copy_to(each->address + at, &each->at_end[at], 1))
        return ended::page_fault;
    }
    for (const page* each : touched_) write(*each);
    return ended::committed;
  }

  static bool is_accessed(const page& each) {
    return each.read_lines != 0 || each.written_lines != 0;
  }
  static bool is_as_read(const page& each) {
    for (std::size_t i = 0; i < page_bytes / line_bytes; ++i) {
      if (!is_line_as_read(each, i)) return false;
    }
    return true;
  }
  static bool is_line_as_read(const page& each, std::size_t line) {
    for (std::size_t i = 0; i < line_bytes; ++i) {
      const std::size_t at = line * line_bytes + i;
      if ((each.read[line] >> i & 1U) != 0 && each.copied[at] != each.at_end[at]) return false;
    }
    return true;
  }
  static bool is_written(const page& each, std::size_t at) {
    return (each.written[at / 64] >> at % 64 & 1U) != 0;
  }
  static std::size_t first_written(const page& each, std::size_t at = 0) {
    while (at < page_bytes && !is_written(each, at)) ++at;
    return at;
  }
  static void write(const page& each) {
    for (std::size_t at = first_written(each); at < page_bytes; at = first_written(each, at)) {
      std::size_t end = at;
      while (end < page_bytes && is_written(each, end)) ++end;
      copy_to(each.address + at, &each.now[at], end - at);
      at = end;
    }
  }

  uc_engine* engine_ = nullptr;
  std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;  // by address
  std::vector<page*> touched_;                                      // by this transaction
  std::vector<unsigned> read_sets_ = std::vector<unsigned>(chosen.sets);
  std::vector<unsigned> written_sets_ = std::vector<unsigned>(chosen.sets);
  std::uint64_t read_lines_ = 0;
  std::uint64_t written_lines_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t transaction_ = 0;
  unsigned depth_ = 0;
  std::uint32_t code_ = 0;
  bool is_fetched_ = false;         // a page of code, for the first time
  bool is_at_instruction_ = false;  // one of RTM's, which the emulator would not notice
  std::optional<ended> why_;
  std::uint64_t number_;  // of the thread
  random::splitmix64 draw_;

  // For the record alone.
  stack_range stack_;
  observed seen_;
  std::uint64_t at_ = 0;             // the instruction that is executed
  std::uint64_t written_after_ = 0;  // instructions
  std::uint64_t highest_ = 0;        // that the stack pointer was, in functions that have returned
  std::uint64_t last_block_end_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      calls_;  // where they return to; that word's place
  bool is_ahead_ = false;
};

// What one thread has. The handler runs on a stack of its own: a transaction may write to the
// program's, just where the handler's frame would be.
struct thread_part {
  void* stack = nullptr;
  std::unique_ptr<emulator> engine;
  std::optional<away_place> place;
};
thread_local thread_part here;
std::atomic<std::uint64_t> threads{0};

bool is_on_own_stack(const void* at) {
  const auto* const first = static_cast<const char*>(here.stack);
  return first != nullptr && std::less_equal<>()(first, static_cast<const char*>(at)) &&
         std::less<>()(static_cast<const char*>(at), first + stack_bytes);
}

void pass_on(int signal, siginfo_t* info, void* raw) {
  const struct sigaction& programs = programs_actions.at(static_cast<std::size_t>(signal));
  const bool is_sent = info->si_code <= 0;  // by a process, which the program may ignore
  if ((programs.sa_flags & SA_SIGINFO) != 0) {
    programs.sa_sigaction(signal, info, raw);
  } else if (programs.sa_handler == SIG_DFL || (programs.sa_handler == SIG_IGN && !is_sent)) {
    ::signal(signal, SIG_DFL);  // the instruction comes again, and ends the program
    if (is_sent) ::raise(signal);
  } else if (programs.sa_handler != SIG_IGN) {
    programs.sa_handler(signal);
  }
}

// CPUID, which the kernel does not let the program execute: as the processor has it, but with RTM.
void on_fault(int signal, siginfo_t* info, void* raw) {
  greg_t* const general = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs;
  std::array<unsigned char, 2> code{};
  if (info->si_code != SI_KERNEL ||
      !copy_from(static_cast<std::uint64_t>(general[REG_RIP]), code.data(), code.size()) ||
      code != cpuid) {
    return pass_on(signal, info, raw);
  }
  constexpr std::uint32_t features = 7;
  constexpr std::uint32_t rtm = 1U << 11U;            // in ebx
  constexpr std::uint32_t always_aborts = 1U << 11U;  // in edx
  const auto leaf = static_cast<std::uint32_t>(general[REG_RAX]);
  const auto part = static_cast<std::uint32_t>(general[REG_RCX]);
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  ::syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
  __cpuid_count(leaf, part, eax, ebx, ecx, edx);
  ::syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
  if (leaf == features && part == 0) {
    ebx |= rtm;
    edx &= ~always_aborts;
  }
  general[REG_RAX] = static_cast<greg_t>(eax);
  general[REG_RBX] = static_cast<greg_t>(ebx);
  general[REG_RCX] = static_cast<greg_t>(ecx);
  general[REG_RDX] = static_cast<greg_t>(edx);
  general[REG_RIP] += static_cast<greg_t>(cpuid.size());
}

void on_illegal(int signal, siginfo_t* info, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  greg_t* const general = context.uc_mcontext.gregs;
  const decoded found = decode_at(static_cast<std::uint64_t>(general[REG_RIP]));
  switch (found.kind) {
    case instruction::none:
      return pass_on(signal, info, raw);
    case instruction::end:  // in no transaction: a general protection fault
      ::raise(SIGSEGV);
      return;
    case instruction::abort:  // does nothing in no transaction
      general[REG_RIP] += static_cast<greg_t>(found.bytes);
      return;
    case instruction::test:
      general[REG_EFL] &= ~static_cast<greg_t>(arithmetic_flags);
      general[REG_EFL] |= static_cast<greg_t>(zero_flag);
      general[REG_RIP] += static_cast<greg_t>(found.bytes);
      return;
    case instruction::begin:
      break;
  }
  if (!is_on_own_stack(&found)) {
    if (here.stack == nullptr) {
      program->new_thread();
      here.stack =
          ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (here.stack == MAP_FAILED) give_up("there is no memory for a stack of its own");
      here.place.emplace();
    }
    // In place when the handler has returned; then the same instruction comes again.
    context.uc_stack = {.ss_sp = here.stack, .ss_flags = 0, .ss_size = stack_bytes};
    return;
  }
  const int before = errno;
  const away_from_program away(*here.place);
  if (here.engine == nullptr) {
    here.engine = std::make_unique<emulator>(threads.fetch_add(1, std::memory_order_relaxed));
  }
  here.engine->run(context, found);
  errno = before;
}

using counts = std::array<std::uint64_t, names.size()>;

void put_words(std::ostream& out, const counts& all) {
  std::uint64_t aborts = 0;
  for (std::size_t i = 1; i < all.size(); ++i) aborts += all[i];
  out << "assay-rtm: " << all[0] << " transactions committed, " << aborts << " aborted";
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] == 0) continue;
    std::string name(names[i]);
    std::ranges::replace(name, '_', ' ');
    out << "; " << name << ": " << all[i];
  }
  out << ". Emulated: no timing of this run means anything.\n";
}

void put_json(std::ostream& out, const counts& all) {
  out << R"({"emulated": true)";
  for (std::size_t i = 0; i < all.size(); ++i) out << ", \"" << names[i] << "\": " << all[i];
  out << ", \"most_read_lines\": " << sums.most_read_lines.load(std::memory_order_relaxed)
      << ", \"most_written_lines\": " << sums.most_written_lines.load(std::memory_order_relaxed);
}

void put_unknown(std::ostream& out) {
  out << "0x" << std::hex << sums.unknown_at << ":" << std::setfill('0');
  for (const unsigned byte : sums.unknown) out << " " << std::setw(2) << byte;
}

bool report() {
  if (kept != nullptr) return kept->write();
  counts all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = sums.ended[i].load(std::memory_order_relaxed);
  }
  std::ostringstream out;
  const bool has_unknown = sums.has_unknown.load(std::memory_order_relaxed);
  if (chosen.json) {
    put_json(out, all);
    if (has_unknown) {
      out << ", \"not_executable_first\": \"";
      put_unknown(out);
      out << "\"";
    }
    out << "}\n";
  } else {
    put_words(out, all);
    if (has_unknown) {
      out << "assay-rtm: a transaction executed what is not emulated, such as AVX, at ";
      put_unknown(out);
      out << "; build that code with -mno-avx\n";
    }
  }
  const std::string text = out.str();
  static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()));
  return true;
}

void end_thread() {
  here.engine.reset();
  here.place.reset();
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  ::sigaltstack(&none, nullptr);
  if (here.stack != nullptr) ::munmap(std::exchange(here.stack, nullptr), stack_bytes);
}

bool is_taken(int signal) {
  return signal == SIGILL || signal == stopped_threads::signal_number() ||
         (signal == SIGSEGV && has_cpuid);
}

int action_of(int signal, const struct sigaction* wanted, struct sigaction* before) {
  struct sigaction& programs = programs_actions.at(static_cast<std::size_t>(signal));
  if (before != nullptr) *before = programs;
  if (wanted != nullptr) programs = *wanted;
  return 0;
}

// Has the program find RTM by CPUID, where the kernel and the processor can keep it from executing
// that.
void take_cpuid() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  struct sigaction& programs = programs_actions.at(SIGSEGV);
  if (::sigaction(SIGSEGV, &action, &programs) != 0) return;
  has_cpuid = ::syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) == 0;
  if (!has_cpuid) ::sigaction(SIGSEGV, &programs, nullptr);
}

const engine_side* start(const program_side* side) {
  program = side;
  chosen = settings::parse(
      std::getenv(settings_variable));  // NOLINT(concurrency-mt-unsafe): before main()
  stopped_threads::install();
  if (!chosen.record.empty()) {
    kept = new transaction_record(chosen, *side, names);
    page_map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    // Empty until there is a transaction: whoever looks for it knows that the program was started.
    try {
      input::require_writable(chosen.record);
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "assay-rtm: %s\n", input::message(error.what()).c_str());
    }
  }
  if (chosen.replaces_begins) {
    int memory = ::open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
    side->for_each_object(replace_begins, &memory);
    ::close(memory);
    std::ranges::sort(replaced_begins);
  }
  struct sigaction action{};
  action.sa_sigaction = on_illegal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER;
  sigfillset(&action.sa_mask);  // a signal waits until the transaction has ended
  for (const int never : {stopped_threads::signal_number(), SIGILL, SIGSEGV}) {
    sigdelset(&action.sa_mask, never);
  }
  if (::sigaction(SIGILL, &action, &programs_actions.at(SIGILL)) != 0) return nullptr;
  if (char byte = 0; !copy_from(reinterpret_cast<std::uint64_t>(&byte), &byte, 1)) {
    give_up("cannot start: the kernel refuses process_vm_readv(2), as a sandbox may have it do");
  }
  take_cpuid();
  static const engine_side mine{.report = report,
                                .end_thread = end_thread,
                                .reserved_signal = stopped_threads::signal_number(),
                                .is_taken = is_taken,
                                .action = action_of};
  return &mine;
}

}  // namespace
}  // namespace assay::emulation

extern "C" [[gnu::visibility("default")]] const assay::emulation::engine_side*
assay_rtm_start_engine(const assay::emulation::program_side* side) {
  return assay::emulation::start(side);
}
