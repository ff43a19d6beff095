#include "assay/host/energy.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>

namespace assay::host {
namespace {

using std::filesystem::path;

constexpr const char* zone_prefix =
    "intel-rapl:";  // also of AMD's; intel-rapl-mmio: is the same again

// The first line of a file; where there is none, `reason` says why.
std::optional<std::string> first_line(const line_reader& read, const path& file,
                                      std::string& reason) try {
  return read(file);
} catch (const std::system_error& failed) {
  const int error = failed.code().value();
  reason = file.string() + " cannot be read";
  if (error != 0) reason += ": " + std::generic_category().message(error);
  if (error == EACCES || error == EPERM) reason += " (since Linux 5.10 only root may)";
  return std::nullopt;
}

std::optional<std::uint64_t> number(const line_reader& read, const path& file,
                                    std::string& reason) {
  const auto line = first_line(read, file, reason);
  if (!line) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), value);
  if (error == std::errc{} && end == line->data() + line->size()) return value;
  reason = file.string() + " holds no number";
  return std::nullopt;
}

// A zone within another has the outer zone's number and its own: intel-rapl:0:1.
path parent_of(const path& zone) {
  const std::string name = zone.filename().string();
  const std::size_t last = name.rfind(':');
  return last + 1 == std::string(zone_prefix).size() ? path()
                                                     : zone.parent_path() / name.substr(0, last);
}

}  // namespace

std::optional<double> energy::total_joules() const {
  const auto counts = [](const std::string& zone) {
    return zone.starts_with("package") &&
           (zone.find('/') == std::string::npos || zone.ends_with("/dram"));
  };
  for (const auto& [zone, reason] : unavailable) {
    if (counts(zone)) return std::nullopt;
  }
  std::optional<double> total;
  for (const auto& [zone, used] : joules) {
    if (counts(zone)) total = total.value_or(0) + used;
  }
  return total;
}

std::string read_line(const path& file) {
  errno = 0;
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) throw std::system_error(errno, std::generic_category());
  return line;
}

energy_meter::energy_meter(const path& directory, line_reader read) : read_(std::move(read)) {
  std::vector<path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(zone_prefix)) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  for (const path& folder : found) {
    std::string reason;
    const auto own_name = first_line(read_, folder / "name", reason);
    std::string name = own_name.value_or(folder.filename().string());
    if (const path parent = parent_of(folder); !parent.empty()) {
      std::string ignored;
      name = first_line(read_, parent / "name", ignored).value_or(parent.filename().string()) +
             "/" + name;
    }
    const auto range = number(read_, folder / "max_energy_range_uj", reason);
    if (own_name && range) {
      zones_.push_back({name, folder / "energy_uj", *range});
    } else {
      unavailable_[name] = reason;
    }
  }
  if (found.empty()) {
    unavailable_["package"] = "there is no " + std::string(zone_prefix) + "* in " +
                              directory.string() + ": the kernel offers no energy counters here";
  }
}

void energy_meter::start() {
  std::erase_if(zones_, [this](zone& each) {
    const auto now = number(read_, each.counter, unavailable_[each.name]);
    if (now) {
      unavailable_.erase(each.name);
      each.before_uj = *now;
    }
    return !now;
  });
}

energy energy_meter::stop() { return lap(); }

energy energy_meter::lap() {
  energy used;
  used.unavailable = unavailable_;
  for (zone& each : zones_) {
    std::string reason;
    const auto now = number(read_, each.counter, reason);
    if (!now) {
      used.unavailable[each.name] = reason;
      continue;
    }
    // It begins again at most once: 65 kJ, the least range in use, last ten minutes at 100 W.
    const std::uint64_t uj =
        *now >= each.before_uj ? *now - each.before_uj : each.range_uj - each.before_uj + *now;
    used.joules[each.name] = static_cast<double>(uj) / 1e6;
    each.before_uj = *now;
  }
  return used;
}

}  // namespace assay::host
