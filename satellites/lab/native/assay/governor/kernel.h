// How a real platform reaches the kernel: files of /sys and /proc, counters, time. A test replaces
// it by another one, which notes requests, or answers them itself.

#ifndef ASSAY_GOVERNOR_KERNEL_H_
#define ASSAY_GOVERNOR_KERNEL_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace assay::energy {

// What a processor's group of two counters has counted, and for how long: where there are more
// groups than the processor has counters, they take turns.
struct counted {
  std::uint64_t enabled_ns;
  std::uint64_t running_ns;
  std::uint64_t instructions;
  std::uint64_t cache_misses;
};

// Counts of all programs on one processor, until it is destroyed.
class processor_counters {
 public:
  processor_counters() = default;
  processor_counters(const processor_counters&) = delete;
  processor_counters& operator=(const processor_counters&) = delete;
  virtual ~processor_counters() = default;

  // Throws std::system_error.
  [[nodiscard]] virtual counted read() = 0;
};

// Two events of perf_event_open, counted together: of its type `type`, such as PERF_TYPE_HARDWARE.
// Throws std::system_error.
[[nodiscard]] std::unique_ptr<processor_counters> open_events(unsigned processor,
                                                              std::uint32_t type,
                                                              std::uint64_t first,
                                                              std::uint64_t second);

class open_file;

// A place is an absolute path, "/sys/devices/system/cpu/online". Methods throw std::system_error.
class kernel {
 public:
  // `root` has another tree of /sys and /proc. wait() returns early once `ended`, a file, can be
  // read.
  explicit kernel(std::filesystem::path root = "/", int ended = -1);
  kernel(const kernel&) = delete;
  kernel& operator=(const kernel&) = delete;
  virtual ~kernel();

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  [[nodiscard]] virtual std::string read(const std::string& place);  // without the last newline
  // The same of a file that is read ten times a second: it is kept open, as to open and close it
  // takes 4 to 7 of 8 microseconds. Files of /sys and /proc are made anew wherever they are read
  // from the start.
  [[nodiscard]] virtual std::string read_again(const std::string& place);
  // Over what is there, as files of /sys want it: one that is killed never leaves an empty one.
  virtual void write(const std::string& place, const std::string& value);
  // The names in a folder, sorted; none where there is no such folder.
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& place);

  [[nodiscard]] virtual std::unique_ptr<processor_counters> open_counters(unsigned processor);

  [[nodiscard]] virtual double now();  // seconds since some moment
  virtual void wait(double seconds);

 private:
  [[nodiscard]] std::filesystem::path file(const std::string& place) const;

  std::filesystem::path root_;
  int ended_;
  std::map<std::string, std::unique_ptr<open_file>> kept_;  // by place
};

}  // namespace assay::energy

#endif  // ASSAY_GOVERNOR_KERNEL_H_
