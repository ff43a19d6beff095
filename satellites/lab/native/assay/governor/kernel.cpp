#include "assay/governor/kernel.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <iterator>
#include <system_error>
#include <utility>

namespace assay::energy {
namespace {

[[noreturn]] void fail(const std::string& place) {
  throw std::system_error(errno, std::generic_category(), place);
}

}  // namespace

class open_file {
 public:
  open_file(int number, const std::string& place) : number_(number) {
    if (number < 0) fail(place);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { close(number_); }

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

namespace {

// From its start.
std::string text_of(const open_file& from, const std::string& place) {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = pread(from.number(), part.data(), part.size(), std::ssize(text))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) fail(place);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

int open_event(std::uint32_t type, std::uint64_t event, unsigned processor, int group) {
  perf_event_attr what{};
  what.size = sizeof what;
  what.type = type;
  what.config = event;
  what.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &what, -1, static_cast<int>(processor),
                                  group, PERF_FLAG_FD_CLOEXEC));
}

class kernel_counters final : public processor_counters {
 public:
  kernel_counters(unsigned processor, std::uint32_t type, std::uint64_t first, std::uint64_t second)
      : first_(open_event(type, first, processor, -1), "first counter"),
        second_(open_event(type, second, processor, first_.number()), "second counter") {}

  counted read() override {
    std::array<std::uint64_t, 5> values{};  // how many, two times, the counts
    const ssize_t got = ::read(first_.number(), values.data(), sizeof values);
    // So the kernel says that a group can no longer count: by nothing, or by its first counter
    // alone.
    if (got >= 0 && got != sizeof values) errno = ENODEV;
    if (got != sizeof values) fail("counters");
    return {values[1], values[2], values[3], values[4]};
  }

 private:
  open_file first_;
  open_file second_;
};

}  // namespace

std::unique_ptr<processor_counters> open_events(unsigned processor, std::uint32_t type,
                                                std::uint64_t first, std::uint64_t second) {
  return std::make_unique<kernel_counters>(processor, type, first, second);
}

kernel::kernel(std::filesystem::path root, int ended) : root_(std::move(root)), ended_(ended) {}
kernel::~kernel() = default;

std::filesystem::path kernel::file(const std::string& place) const {
  return root_ / std::filesystem::path(place).relative_path();
}

std::string kernel::read(const std::string& place) {
  return text_of(open_file(open(file(place).c_str(), O_RDONLY | O_CLOEXEC), place), place);
}

std::string kernel::read_again(const std::string& place) {
  std::unique_ptr<open_file>& kept = kept_[place];
  if (!kept) {
    kept = std::make_unique<open_file>(open(file(place).c_str(), O_RDONLY | O_CLOEXEC), place);
  }
  try {
    return text_of(*kept, place);
  } catch (const std::system_error&) {
    kept.reset();  // what the file was of is gone: another may have its place
    throw;
  }
}

void kernel::write(const std::string& place, const std::string& value) {
  const open_file to(open(file(place).c_str(), O_WRONLY | O_CLOEXEC), place);
  if (::write(to.number(), value.data(), value.size()) < 0) fail(place);
}

std::vector<std::string> kernel::list(const std::string& place) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(file(place), error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::unique_ptr<processor_counters> kernel::open_counters(unsigned processor) {
  return open_events(processor, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
                     PERF_COUNT_HW_CACHE_MISSES);
}

double kernel::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void kernel::wait(double seconds) {
  const double whole = std::floor(std::max(seconds, 0.0));
  const timespec time{.tv_sec = static_cast<time_t>(whole),
                      .tv_nsec = static_cast<long>((std::max(seconds, 0.0) - whole) * 1e9)};
  pollfd end{.fd = ended_, .events = POLLIN, .revents = 0};  // poll ignores what is below 0
  if (ppoll(&end, 1, &time, nullptr) < 0 && errno != EINTR) fail("ppoll");
}

}  // namespace assay::energy
