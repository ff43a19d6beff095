// What programs may rely on of RTM: run by a processor that has it, or by assay-rtm, which is what
// these tests are for. Where there is neither, they are skipped.

#include <cpuid.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::emulation {
namespace {

constexpr std::uint32_t begun = ~0U;
constexpr std::uint32_t asked = 1U << 0U;
constexpr std::uint32_t again = 1U << 1U;
constexpr std::uint32_t conflict = 1U << 2U;
constexpr std::uint32_t capacity = 1U << 3U;
constexpr std::uint32_t breakpoint = 1U << 4U;
constexpr std::uint32_t nested = 1U << 5U;

[[gnu::always_inline]] inline std::uint32_t begin() {
  std::uint32_t status = begun;
  asm volatile("xbegin 1f\n1:" : "+a"(status) : : "memory");
  return status;
}
[[gnu::always_inline]] inline void end() { asm volatile("xend" : : : "memory"); }
template <std::uint8_t code>
[[gnu::always_inline]] inline void abort_with() {
  asm volatile("xabort %0" : : "i"(code) : "memory");
}
[[gnu::always_inline]] inline bool inside() {
  bool is = false;  // NOLINT(misc-const-correctness): written below
  asm volatile("xtest\n\tsetnz %0" : "=r"(is) : : "cc", "memory");
  return is;
}

bool is_emulated() { return ::dlsym(RTLD_DEFAULT, "assay_rtm_emulation") != nullptr; }

bool has_rtm() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned rtm = 1U << 11U;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & rtm) != 0 &&
         (edx & rtm) == 0;  // of edx: that it always aborts
}

// Until it commits. A processor ends a transaction at a page that nobody has touched, each time
// anew, so that `f` needs pages that were.
template <class F>
void atomically(const F& f) {
  for (unsigned attempts = 0; begin() != begun;) {
    ASSERT_LT(++attempts, 10'000'000U) << "it never commits";
  }
  f();
  end();
}

// What the first abort says that was not made, nor by another thread. A processor also ends
// transactions for interrupts and the like, and says nothing of the cause: nothing is believed of
// it once it was said 100 times.
template <class F>
std::uint32_t status_of(const F& f) {
  const unsigned believed = is_emulated() ? 1 : 100;
  for (unsigned unexplained = 0;;) {
    const std::uint32_t status = begin();
    if (status == begun) {
      f();
      end();
      return begun;
    }
    if ((status & again) != 0) continue;
    if (status != 0 || ++unexplained == believed) return status;
  }
}

template <class F>
void run_threads(unsigned count, const F& f) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(f, i);
  for (std::thread& each : threads) each.join();
}

// By tests alone.
#define SKIP_WITHOUT_TRANSACTIONS()                                             \
  if (!is_emulated() && !has_rtm()) {                                           \
    GTEST_SKIP() << "this processor has no RTM; run it as: assay-rtm rtm_test"; \
  }                                                                             \
  static_assert(true)

class rtm : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_TRANSACTIONS(); }
};

class rtm_of : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { SKIP_WITHOUT_TRANSACTIONS(); }
};

TEST_P(rtm_of, threads_lose_no_increment) {
  constexpr unsigned rounds = 500;
  std::uint64_t counter = 0;
  run_threads(GetParam(), [&](unsigned) {
    for (unsigned n = 0; n < rounds; ++n) atomically([&] { ++counter; });
  });
  EXPECT_EQ(counter, std::uint64_t{rounds} * GetParam());
}

TEST_P(rtm_of, threads_see_one_moment) {
  constexpr unsigned rounds = 300;
  struct far_apart {
    alignas(8192) std::int64_t low = 0;
    alignas(8192) std::int64_t high = 0;
  };
  static far_apart words;
  words = {};
  std::atomic<unsigned> torn{0};
  run_threads(GetParam(), [&](unsigned i) {
    for (unsigned n = 0; n < rounds; ++n) {
      if (i % 2 == 0) {
        atomically([&] {
          ++words.low;
          --words.high;
        });
      } else {
        std::int64_t low = 0;
        std::int64_t high = 0;
        atomically([&] {
          low = words.low;
          high = words.high;
        });
        if (low + high != 0) torn.fetch_add(1);
      }
    }
  });
  EXPECT_EQ(torn.load(), 0U);
}

INSTANTIATE_TEST_SUITE_P(threads, rtm_of, ::testing::Values(1U, 2U, 8U));

// A transaction writes one word after the other, and they are there at once.
TEST_F(rtm, plain_readers_see_no_half_of_a_transaction) {
  struct far_apart {
    alignas(8192) std::atomic<std::uint64_t> first{0};
    alignas(8192) std::atomic<std::uint64_t> second{0};
  };
  static far_apart words;
  words.first.store(0);
  words.second.store(0);
  std::atomic<bool> over{false};
  std::uint64_t wrong = 0;
  std::thread reader([&] {
    while (!over.load()) {
      const std::uint64_t second = words.second.load();
      const std::uint64_t first = words.first.load();
      const std::uint64_t later = words.second.load();
      wrong += first < second || later < first ? 1U : 0U;
      // Reads of a processor's own transactions abort them: a reader without pauses lets none
      // commit.
      for (int i = 0; i < 64; ++i) __builtin_ia32_pause();
    }
  });
  for (unsigned n = 0; n < 500; ++n) {
    atomically([] {
      words.first.store(words.first.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      words.second.store(words.second.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    });
  }
  over.store(true);
  reader.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(words.second.load(), 500U);
}

// Locked instructions of others are not lost between a transaction's read and its write.
TEST_F(rtm, keeps_what_others_add_without_transactions) {
  std::atomic<std::uint64_t> counter{0};
  constexpr unsigned rounds = 300;
  run_threads(2, [&](unsigned i) {
    for (unsigned n = 0; n < rounds; ++n) {
      if (i == 0) {
        atomically([&] {
          counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        });
      } else {
        counter.fetch_add(1);
        std::this_thread::yield();
      }
    }
  });
  EXPECT_EQ(counter.load(), 2 * rounds);
}

TEST_F(rtm, an_abort_undoes_all) {
  std::uint64_t word = 1;
  const std::uint32_t status = status_of([&] {
    word = 2;
    abort_with<0x5a>();
  });
  EXPECT_EQ(status, asked | 0x5aU << 24U);
  EXPECT_EQ(word, 1U);
}

TEST_F(rtm, an_abort_tells_each_code) {
  const auto expect_one = []<std::uint8_t code>(std::integral_constant<std::uint8_t, code> /*of*/) {
    EXPECT_EQ(status_of([] { abort_with<code>(); }), asked | std::uint32_t{code} << 24U);
  };
  [&]<std::size_t... code>(std::index_sequence<code...> /*all*/) {
    (expect_one(std::integral_constant<std::uint8_t, std::uint8_t{code}>()), ...);
  }(std::make_index_sequence<256>());
}

TEST_F(rtm, an_abort_outside_does_nothing_and_a_test_says_where_one_is) {
  abort_with<1>();
  EXPECT_FALSE(inside());
  bool within = false;
  atomically([&] { within = inside(); });
  EXPECT_TRUE(within);
  EXPECT_FALSE(inside());
}

TEST_F(rtm, nested_transactions_are_one) {
  std::uint64_t word = 0;
  bool within = false;
  atomically([&] {
    if (begin() == begun) {
      ++word;
      end();
    }
    within = inside();
    ++word;
  });
  EXPECT_EQ(word, 2U);
  EXPECT_TRUE(within);
  const std::uint32_t status = status_of([&] {
    ++word;
    if (begin() != begun) word = 100;  // an abort goes back to the first
    abort_with<7>();
  });
  EXPECT_EQ(status, asked | nested | 7U << 24U);
  EXPECT_EQ(word, 2U);
}

TEST_F(rtm, nesting_has_an_end) {
  static constexpr auto nest = [](unsigned depth) {
    return status_of([depth] {
      for (unsigned n = 1; n < depth; ++n) static_cast<void>(begin());
      for (unsigned n = 1; n < depth; ++n) end();
    });
  };
  EXPECT_EQ(nest(7), begun);
  EXPECT_EQ(nest(50), nested);
}

TEST_F(rtm, writing_too_much_exceeds_the_capacity) {
  constexpr std::size_t lines = 1 << 17U;
  std::vector<std::uint64_t> words(lines * 8);
  EXPECT_EQ(status_of([&] {
              for (std::size_t i = 0; i < lines; ++i) words[i * 8] = 1;
            }) & capacity,
            capacity);
  EXPECT_EQ(words[0], 0U);
  EXPECT_EQ(status_of([&] {
              for (std::size_t i = 0; i < 16; ++i) words[i * 8] = 1;
            }),
            begun);
}

TEST_F(rtm, a_breakpoint_is_told) {
  EXPECT_EQ(status_of([] { asm volatile("int3"); }) & breakpoint, breakpoint);
}

TEST_F(rtm, a_system_call_ends_it) {
  EXPECT_EQ(status_of([] { static_cast<void>(::getppid()); }), 0U);
}

// What would end the program outside ends the transaction alone.
TEST_F(rtm, a_doomed_transaction_does_no_harm) {
  static std::atomic<std::uint64_t> zero{0};
  static volatile std::uint64_t seven = 7;
  EXPECT_EQ(status_of([] { zero.store(seven / zero.load()); }), 0U) << "divides by zero";
  EXPECT_EQ(status_of([] { asm volatile("movq $0, 8"
                                        :
                                        :
                                        : "memory"); }), 0U)
      << "there is no memory";
  EXPECT_EQ(status_of([] {
              while (zero.load(std::memory_order_relaxed) == 0) {
              }
            }),
            0U)
      << "never ends";
  EXPECT_EQ(status_of([] { asm volatile("ud2"); }), 0U);
  EXPECT_EQ(status_of([] { asm volatile("jmp 8"); }), 0U);
  EXPECT_EQ(zero.load(), 0U);
}

TEST_F(rtm, memory_that_is_only_read_stays_as_it_is) {
  constexpr std::size_t bytes = 4096;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const word = static_cast<volatile std::uint64_t*>(memory);
  std::uint64_t other = *word;
  EXPECT_EQ(status_of([&] {
              other = 1;
              *word = 1;
            }),
            0U);
  EXPECT_EQ(other, 0U);
  EXPECT_EQ(status_of([&] { other = *word + 2; }), begun);
  EXPECT_EQ(other, 2U);
  ::munmap(memory, bytes);
}

TEST_F(rtm, accesses_may_cross_pages) {
  alignas(4096) static std::array<char, 8192> bytes{};
  auto* const across = bytes.data() + 4092;
  bytes.fill(1);
  bytes.fill(0);
  asm volatile("" : : "r"(bytes.data()) : "memory");
  atomically([&] { asm volatile("movq %0, (%1)" : : "r"(UINT64_MAX), "r"(across) : "memory"); });
  EXPECT_EQ(bytes[4091], 0);
  EXPECT_EQ(bytes[4092], -1);
  EXPECT_EQ(bytes[4099], -1);
  EXPECT_EQ(bytes[4100], 0);
}

// Also where the code falls or jumps into the page for the first time in a transaction.
TEST_F(rtm, an_abort_may_begin_a_page) {
  constexpr std::size_t bytes = 4096;
  for (const std::size_t nops : {0U, 1U}) {
    void* const memory = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const page = static_cast<unsigned char*>(memory) + bytes;
    constexpr std::array<unsigned char, 4> xabort_7_and_return{0xc6, 0xf8, 7, 0xc3};
    std::ranges::copy(xabort_7_and_return, page);
    std::fill(page - nops, page, 0x90);
    auto* const code = reinterpret_cast<void (*)()>(page - nops);
    code();  // nothing outside; and the pages are there
    EXPECT_EQ(status_of([&] { code(); }), asked | 7U << 24U) << nops << " instructions before it";
    ::munmap(memory, 2 * bytes);
  }
}

// Registers of all kinds go in and come out.
TEST_F(rtm, computes_with_all_registers) {
  const bool with_x87 = is_emulated();  // a processor may end transactions that use x87
  volatile double by_sse = 2;
  volatile long double by_x87 = 3;
  std::uint64_t sum = 0;
  atomically([&] {
    by_sse = by_sse * 1.5 + 0.25;
    if (with_x87) by_x87 = by_x87 / 7;
    for (std::uint64_t i = 0; i < 100; ++i) sum += i * i;
  });
  EXPECT_EQ(by_sse, 3.25);
  EXPECT_EQ(by_x87, with_x87 ? 3.0L / 7 : 3.0L);
  EXPECT_EQ(sum, 328350U);
  double kept = 1.5;
  asm volatile("" : "+x"(kept));
  EXPECT_EQ(status_of([&] {
              asm volatile("xorps %0, %0" : "+x"(kept));
              abort_with<1>();
            }),
            asked | 1U << 24U);
}

// Which of the x87's registers is the first one differs from one transaction to the next.
TEST_F(rtm, registers_of_the_x87_that_are_in_use_stay) {
  if (!is_emulated()) GTEST_SKIP() << "a processor may end transactions that use x87";
  for (unsigned in_use = 0; in_use < 4; ++in_use) {
    for (unsigned i = 0; i < in_use; ++i) asm volatile("fld1");
    std::uint32_t status = begun;
    double pi = 0;  // NOLINT(misc-const-correctness): written below
    do {
      status = begun;
      asm volatile("fldpi\n\txbegin 1f\n1:\tcmpl $-1, %%eax\n\tjne 2f\n\txend\n2:\tfstpl %1"
                   : "+a"(status), "=m"(pi)
                   :
                   : "cc", "memory");
    } while (status == again);  // which was injected
    EXPECT_EQ(status, begun);
    EXPECT_EQ(pi, 0x1.921fb54442d18p1) << in_use << " in use";
    for (unsigned i = 0; i < in_use; ++i) asm volatile("fstp %st(0)");
  }
}

[[gnu::noinline]] std::uint64_t deeper(std::uint64_t depth) {
  std::array<std::uint64_t, 64> kept{};
  asm volatile("" : : "r"(kept.data()) : "memory");
  kept[depth % kept.size()] = depth;
  return depth == 0 ? 0 : kept[depth % kept.size()] + deeper(depth - 1);
}

// Its frames lie where those of a signal's handler would.
TEST_F(rtm, calls_functions) {
  std::uint64_t sum = deeper(60);
  atomically([&] { sum = deeper(50); });
  EXPECT_EQ(sum, 50U * 51 / 2);
}

// Which changes the heap that the emulator must not share.
TEST_F(rtm, allocates_where_no_system_call_is_needed) {
  std::map<int, std::string> map;
  for (int i = 0; i < 100; ++i) map.emplace(i, std::string(40, 'x'));
  map.clear();  // so that there is memory
  for (int i = 0; i < 50; ++i) atomically([&] { map.emplace(i, std::string(40, 'y')); });
  ASSERT_EQ(map.size(), 50U);
  EXPECT_EQ(map.at(49), std::string(40, 'y'));
}

std::atomic<unsigned> signals{0};
std::atomic<bool> was_inside{false};

TEST_F(rtm, a_signal_ends_it_and_is_delivered) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {
    signals.fetch_add(1);
    if (inside()) was_inside.store(true);
  };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  signals.store(0);
  const pthread_t self = ::pthread_self();
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over.load()) {
      ::pthread_kill(self, SIGUSR1);
      std::this_thread::yield();
    }
  });
  unsigned aborts = 0;
  while (aborts == 0 || signals.load() == 0) {
    const std::uint32_t status = begin();
    if (status == begun) {
      for (unsigned i = 0; i < 1000; ++i) asm volatile("");
      end();
    } else if ((status & again) == 0) {
      ++aborts;
    }
  }
  over.store(true);
  other.join();
  EXPECT_GT(signals.load(), 0U);
  EXPECT_FALSE(was_inside.load()) << "its handler ran in the transaction";
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(rtm, a_signal_that_is_blocked_does_not_end_it) {
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &one, &before), 0);
  ::pthread_kill(::pthread_self(), SIGUSR1);
  std::uint64_t word = 0;
  EXPECT_EQ(status_of([&] { ++word; }), begun);
  EXPECT_EQ(word, 1U);
  int taken = 0;
  EXPECT_EQ(::sigwait(&one, &taken), 0);
  EXPECT_EQ(taken, SIGUSR1);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Each of these replaces the mask of a thread while it waits, as far as it knows by all signals but
// one.
TEST_F(rtm, threads_may_wait_for_signals) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  sigset_t all_others;
  sigfillset(&all_others);
  sigdelset(&all_others, SIGUSR1);
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);  // so that none comes too early
  const std::vector<void (*)(const sigset_t*, const sigset_t*)> waits{
      // NOLINTNEXTLINE(concurrency-mt-unsafe): its signal is sent to its thread
      [](const sigset_t* others, const sigset_t*) { ::sigsuspend(others); },
      [](const sigset_t* others, const sigset_t*) { ::ppoll(nullptr, 0, nullptr, others); },
      [](const sigset_t* others, const sigset_t*) {
        ::pselect(0, nullptr, nullptr, nullptr, nullptr, others);
      },
      [](const sigset_t* others, const sigset_t*) {
        const int file = ::epoll_create1(0);
        epoll_event unused{};
        ::epoll_pwait(file, &unused, 1, -1, others);
        ::close(file);
      },
      [](const sigset_t*, const sigset_t* set) {
        int taken = 0;
        ::sigwait(set, &taken);
      },
      [](const sigset_t*, const sigset_t* set) { ::sigwaitinfo(set, nullptr); },
      [](const sigset_t*, const sigset_t* set) {
        const timespec long_enough{.tv_sec = 3600, .tv_nsec = 0};
        ::sigtimedwait(set, nullptr, &long_enough);
      },
  };
  for (const auto wait : waits) {
    std::atomic<bool> over{false};
    std::thread other([&] {
      wait(&all_others, &all);
      over.store(true);
    });
    std::uint64_t word = 0;
    for (unsigned n = 0; n < 20; ++n) atomically([&] { ++word; });
    while (!over.load()) {  // the transactions' own signal may have ended it, as it ends poll()
      ::pthread_kill(other.native_handle(), SIGUSR1);
      std::this_thread::yield();
    }
    other.join();
    EXPECT_EQ(word, 20U);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(rtm, what_is_not_emulated_ends_it) {
  if (has_rtm() && !is_emulated()) GTEST_SKIP() << "a processor executes it";
  EXPECT_EQ(status_of([] { asm volatile("vxorps %%ymm0, %%ymm0, %%ymm0" : : : "xmm0"); }), 0U);
}

TEST_F(rtm, another_threads_change_is_a_conflict) {
  std::atomic<std::uint64_t> word{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over.load()) word.fetch_add(1);
  });
  std::uint32_t status = begun;
  while ((status & conflict) == 0) {
    status = begin();
    if (status != begun) continue;
    const std::uint64_t first = word.load(std::memory_order_relaxed);
    for (unsigned i = 0; i < 1000; ++i) asm volatile("");
    word.store(first + 1, std::memory_order_relaxed);
    end();
  }
  over.store(true);
  other.join();
  EXPECT_EQ(status & again, again);
}

// A transaction that has touched one line of a page sees what another thread writes into another
// line of it after that, if it reads that line later. Without that it never ends.
TEST_F(rtm, another_threads_change_beside_what_it_has_touched_is_seen) {
  struct alignas(4096) {
    alignas(64) std::atomic<std::uint64_t> touched{0};
    alignas(64) std::atomic<std::uint64_t> written{0};  // when: the time stamp counter
  } page;
  const auto wait = [](std::uint64_t cycles) {
    for (const std::uint64_t start = __rdtsc(); __rdtsc() - start < cycles;) continue;
  };
  for (bool seen = false; !seen;) {
    std::atomic<bool> begins{false};
    std::thread other([&] {
      while (!begins.load()) continue;
      wait(1'000'000);
      page.written.store(__rdtsc());
    });
    begins.store(true);
    if (begin() == begun) {
      page.touched.load(std::memory_order_relaxed);
      const std::uint64_t since = __rdtsc();
      wait(4'000'000);
      const bool later = page.written.load(std::memory_order_relaxed) > since;
      end();
      seen = later;
    }
    other.join();
  }
}

}  // namespace
}  // namespace assay::emulation
