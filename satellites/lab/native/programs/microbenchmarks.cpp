// assay-microbenchmarks: fixtures that do one thing each (microbenchmarks.h).

#include "microbenchmarks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace assay::microbenchmarks {
namespace {

using fixture::registered;
using fixture::setup;
using fixture::thread;

constexpr std::size_t kibi = 1024;
constexpr std::size_t mebi = 1024 * kibi;

const registered<volatile_counter> counter{
    "volatile_counter", "1,000 steps of a volatile counter; unit: a step, computes only"};
const registered<reads<true>> dependent{
    "dependent_reads",
    "1,000 reads every 256 bytes, each of which says where the next is, in an array of this many "
    "bytes; unit: a read",
    {256 * mebi, 16 * kibi, 256 * kibi, 4 * mebi, 64 * mebi}};
const registered<reads<false>> independent{
    "independent_reads",
    "1,000 reads every 256 bytes at places known before, in an array of this many bytes; unit: "
    "a read",
    {256 * mebi, 16 * kibi, 256 * kibi, 4 * mebi, 64 * mebi}};
const registered<branches<true>> random_branches{
    "random_branches",
    "1,000 branches by random bits; unit: a branch, every second one mispredicted"};
const registered<branches<false>> regular_branches{
    "regular_branches", "1,000 branches taken by turns; unit: a branch, none mispredicted"};

// One read in each page, of a line at random, so that the lines of more pages than a TLB holds are
// spread over a cache that holds them.
class tlb_misses {
 public:
  explicit tlb_misses(const setup& given) : bytes_(given.size * page) {
    if (given.size == 0) throw std::invalid_argument("size: must be at least 1 page");
    void* const mapped =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(mapped);
    // One TLB entry of a huge page holds 512 of these; a kernel without huge pages refuses what it
    // has not.
    static_cast<void>(madvise(mapped, bytes_, MADV_NOHUGEPAGE));
    std::vector<std::size_t> order(given.size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 draw(given.seed);
    std::ranges::shuffle(order, draw);
    for (std::size_t i = 0; i < order.size(); ++i) {
      place(order[i])->next = place(order[(i + 1) % order.size()]);
    }
    at_ = place(0);
  }
  ~tlb_misses() { munmap(memory_, bytes_); }
  tlb_misses(const tlb_misses&) = delete;
  tlb_misses& operator=(const tlb_misses&) = delete;

  void run() {
    const link* at = at_;
    for (std::size_t i = 0; i < units; ++i) {
      at = at->next;
      fixture::keep(at);
    }
    at_ = at;
  }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t line = 64;
  struct link {
    const link* next;
  };

  [[nodiscard]] link* place(std::size_t number) const {
    return reinterpret_cast<link*>(memory_ + number * page +
                                   random::mix64(number) % (page / line) * line);
  }

  std::size_t bytes_;
  char* memory_;
  const link* at_;
};
const registered<tlb_misses> tlb{
    "tlb_misses",
    "1,000 dependent reads, each in another one of this many pages of 4 KiB; unit: a read",
    {4096, 16, 1024, 65536}};

#if defined(__x86_64__)

// Eight chains, so that as many begin at once as the processor has units for: 25 times 5
// instructions of each. They stand in assembly, as a compiler would leave out or merge what changes
// nothing.
#define ASSAY_THOUSAND(prepared, instruction, end)                                            \
  asm volatile(".irp r,0,1,2,3,4,5,6,7,8\n\t" prepared                                        \
               "\n\t.endr\n\t"                                                                \
               "movl $25, %%ecx\n"                                                            \
               "1:\n\t.rept 5\n\t.irp r,0,1,2,3,4,5,6,7\n\t" instruction                      \
               "\n\t.endr\n\t.endr\n\t"                                                       \
               "decl %%ecx\n\tjnz 1b\n\t" end                                                 \
               :                                                                              \
               :                                                                              \
               : "ecx", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
                 "xmm8")
#define ASSAY_LOW_ONES "pcmpeqd %%xmm\\r, %%xmm\\r"
// All numbers 1: neither slow as denormal ones are, nor saving power as 0 would.
#define ASSAY_LOW_FLOATS ASSAY_LOW_ONES "\n\tpslld $25, %%xmm\\r\n\tpsrld $2, %%xmm\\r"
#define ASSAY_ONES(v) "vpcmpeqd %%" v "\\r, %%" v "\\r, %%" v "\\r"
#define ASSAY_WIDE_ONES "vpternlogd $255, %%zmm\\r, %%zmm\\r, %%zmm\\r"
#define ASSAY_FLOATS(v) \
  "\n\tvpslld $25, %%" v "\\r, %%" v "\\r\n\tvpsrld $2, %%" v "\\r, %%" v "\\r"

bool always() { return true; }
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
bool has_avx512() { return __builtin_cpu_supports("avx512f") != 0; }

// How an instruction is done: on this many bits at once, where the processor can.
struct width {
  std::string name;
  bool (*supported)();
  void (*thousand)();
};

const std::vector<width>& inversions() {
  static const std::vector<width> widths{
      {"scalar", always,
       [] {
         asm volatile(
             "movl $25, %%ecx\n"
             "1:\n\t.rept 5\n\t.irp r,8,9,10,11,12,13,14,15\n\txorq $-1, "
             "%%r\\r\n\t.endr\n\t.endr\n\t"
             "decl %%ecx\n\tjnz 1b"
             :
             :
             : "ecx", "cc", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
       }},
      {"sse2", always, [] { ASSAY_THOUSAND(ASSAY_LOW_ONES, "pxor %%xmm8, %%xmm\\r", ""); }},
      {"avx2", has_avx2,
       [] { ASSAY_THOUSAND(ASSAY_ONES("ymm"), "vpxor %%ymm8, %%ymm\\r, %%ymm\\r", "vzeroupper"); }},
      {"avx512", has_avx512,
       [] { ASSAY_THOUSAND(ASSAY_WIDE_ONES, "vpxorq %%zmm8, %%zmm\\r, %%zmm\\r", "vzeroupper"); }},
  };
  return widths;
}

const std::vector<width>& multiplications() {
  static const std::vector<width> widths{
      {"scalar", always, [] { ASSAY_THOUSAND(ASSAY_LOW_FLOATS, "mulss %%xmm8, %%xmm\\r", ""); }},
      {"sse2", always, [] { ASSAY_THOUSAND(ASSAY_LOW_FLOATS, "mulps %%xmm8, %%xmm\\r", ""); }},
      {"avx2", has_avx2,
       [] {
         ASSAY_THOUSAND(ASSAY_ONES("ymm") ASSAY_FLOATS("ymm"), "vmulps %%ymm8, %%ymm\\r, %%ymm\\r",
                        "vzeroupper");
       }},
      {"avx512", has_avx512,
       [] {
         ASSAY_THOUSAND(ASSAY_WIDE_ONES ASSAY_FLOATS("zmm"), "vmulps %%zmm8, %%zmm\\r, %%zmm\\r",
                        "vzeroupper");
       }},
  };
  return widths;
}

// `--set width=sse2`; without it the widest that the processor has.
const width& chosen(const std::vector<width>& widths, const setup& given) {
  const std::string name = given.text("width", "widest");
  if (name == "widest") {
    return *std::ranges::find_if(widths.rbegin(), widths.rend(),
                                 [](const width& one) { return one.supported(); });
  }
  const auto found = std::ranges::find(widths, name, &width::name);
  if (found == widths.end()) {
    throw std::invalid_argument("width: there is no " + name +
                                "; there are widest, scalar, sse2, avx2, avx512");
  }
  if (!found->supported()) {
    throw std::invalid_argument("width: this processor has no " + name +
                                "; leave width out for the widest that it has");
  }
  return *found;
}

template <const std::vector<width>& (*Widths)()>
class vectors {
 public:
  explicit vectors(const setup& given) : thousand_(chosen(Widths(), given).thousand) {}
  void run(const thread& /*self*/) { thousand_(); }

 private:
  void (*thousand_)();
};
const registered<vectors<inversions>> vector_xor{
    "vector_xor",
    "1,000 exclusive ors, of as many bits as the processor can (--set width=scalar, sse2, avx2, "
    "avx512); unit: an instruction"};
const registered<vectors<multiplications>> vector_multiply{
    "vector_multiply",
    "1,000 multiplications of floats, of as many as the processor can (--set width=...); unit: an "
    "instruction"};

struct nops {
  void run(const thread& /*self*/) {
    asm volatile("movl $25, %%ecx\n1:\n\t.rept 40\n\tnop\n\t.endr\n\tdecl %%ecx\n\tjnz 1b"
                 :
                 :
                 : "ecx", "cc");
  }
};
const registered<nops> no_operations{"nops",
                                     "1,000 instructions that do nothing; unit: an instruction"};

struct divisions {
  void run() {
    for (std::size_t i = 0; i < units; ++i) {
      std::uint64_t quotient = UINT64_MAX;
      std::uint64_t remainder = 0;
      asm volatile("divq %2" : "+a"(quotient), "+d"(remainder) : "r"(divisor_) : "cc");
    }
  }

 private:
  std::uint64_t divisor_ = 3;
};
const registered<divisions> division{"divisions",
                                     "1,000 divisions of 64-bit numbers; unit: a division"};

struct population_counts {
  population_counts() {
    if (!__builtin_cpu_supports("popcnt")) {
      throw std::invalid_argument("this processor has no instruction that counts bits");
    }
  }
  void run() {
    for (std::size_t i = 0; i < units; ++i) {
      std::uint64_t count = 0;
      asm volatile("popcntq %1, %0" : "=r"(count) : "r"(i) : "cc");
    }
  }
};
const registered<population_counts> population{
    "population_counts", "1,000 population counts of 64-bit numbers; unit: a count"};

#undef ASSAY_THOUSAND
#undef ASSAY_LOW_ONES
#undef ASSAY_LOW_FLOATS
#undef ASSAY_ONES
#undef ASSAY_WIDE_ONES
#undef ASSAY_FLOATS

#endif

}  // namespace
}  // namespace assay::microbenchmarks
