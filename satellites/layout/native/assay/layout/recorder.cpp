#include "assay/layout/recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "assay/input/bad_request.h"
#include "assay/layout/trace.h"
#include "assay/random/hash.h"

namespace assay::layout {
namespace {

// As the plugin writes it.
struct told_block {
  std::uint64_t address = 0;
  std::uint64_t hash = 0;
  std::uint32_t bytes = 0;
  std::uint32_t instructions = 0;
};

using file = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

file opened(const std::filesystem::path& path) {
  file found(std::fopen(path.c_str(), "rb"), std::fclose);
  if (found == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot read " + path.string());
  }
  return found;
}

struct segment {
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// What is in a program's file.
class image {
 public:
  explicit image(const nlohmann::json& program) {
    for (const auto& each : program.at("procedures")) {
      procedures_.push_back({.name = {},
                             .address = each.at(1).get<std::uint64_t>(),
                             .bytes = each.at(2).get<std::uint32_t>()});
    }
    for (const auto& each : program.at("code")) {
      code_.push_back({.address = each.at(0).get<std::uint64_t>(),
                       .offset = each.at(1).get<std::uint64_t>(),
                       .bytes = each.at(2).get<std::uint64_t>()});
    }
    const std::ifstream in(program.at("program").get<std::string>(), std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    content_ = std::move(all).str();
  }

  [[nodiscard]] std::uint64_t least_address() const {
    return std::ranges::min(code_, {}, &segment::address).address;
  }

  // The block of a procedure that begins at this address; none if it is in no procedure.
  [[nodiscard]] std::optional<block> find(std::uint64_t address, const told_block& told) const {
    const auto after = std::ranges::upper_bound(procedures_, address, {}, &procedure::address);
    if (after == procedures_.begin()) return std::nullopt;
    const procedure& here = *(after - 1);
    if (address - here.address >= here.bytes) return std::nullopt;
    return block{.procedure = static_cast<std::uint32_t>(after - 1 - procedures_.begin()),
                 .offset = static_cast<std::uint32_t>(address - here.address),
                 // Code that falls through into the next procedure counts in this one.
                 .bytes = static_cast<std::uint16_t>(
                     std::min<std::uint64_t>(told.bytes, here.address + here.bytes - address)),
                 .instructions = static_cast<std::uint16_t>(told.instructions)};
  }

  // Whether the file has other bytes there than were executed.
  [[nodiscard]] bool differs(std::uint64_t address, const told_block& told) const {
    const auto in = std::ranges::find_if(code_, [&](const segment& each) {
      return address >= each.address && address + told.bytes <= each.address + each.bytes;
    });
    if (in == code_.end()) return false;
    const std::uint64_t begin = address - in->address + in->offset;
    if (begin + told.bytes > content_.size()) return false;
    return random::hash_of(std::string_view(content_).substr(begin, told.bytes)) != told.hash;
  }

 private:
  std::vector<procedure> procedures_;
  std::vector<segment> code_;
  std::string content_;
};

}  // namespace

void record(const nlohmann::json& program, const recording& files) {
  const image of(program);
  const std::string path = program.at("program").get<std::string>();
  nlohmann::json header = program;
  header.erase("code");
  trace_writer writer(files.output, header.dump());

  constexpr std::uint32_t outside = ~0U;  // a number of ours
  std::vector<block> blocks;
  std::vector<std::uint32_t> numbers;  // ours, of each that the plugin told
  std::vector<std::uint32_t> instructions;
  std::uint64_t instructions_outside = 0;
  std::uint64_t base = 0;  // what the loader added to each address
  file told(nullptr, std::fclose);
  // Reads what the plugin has written of blocks by now. False if it has not written this one.
  const auto learn = [&](std::uint32_t number) {
    if (told == nullptr) told = opened(files.blocks);
    std::uint64_t start = 0;
    if (std::fseek(told.get(), 0, SEEK_SET) != 0 ||
        std::fread(&start, sizeof start, 1, told.get()) != 1) {
      return false;
    }
    base = start - of.least_address();
    const auto known = static_cast<long>(numbers.size() * sizeof(told_block));
    if (std::fseek(told.get(), known, SEEK_CUR) != 0) return false;
    told_block next;
    while (std::fread(&next, sizeof next, 1, told.get()) == 1) {
      const std::uint64_t address = next.address - base;
      const std::optional<block> found = of.find(address, next);
      if (found && of.differs(address, next)) {
        throw bad_request(path + ": changes its code while it runs, which no trace can follow");
      }
      numbers.push_back(found ? static_cast<std::uint32_t>(blocks.size()) : outside);
      instructions.push_back(next.instructions);
      if (found) blocks.push_back(*found);
    }
    return numbers.size() > number;
  };

  std::vector<char> buffer(std::size_t{1} << 16U);  // before the file, which uses it to its end
  const file executed = opened(files.executed);
  std::setvbuf(executed.get(), buffer.data(), _IOFBF, buffer.size());
  std::uint64_t recorded = 0;
  const auto add = [&](std::uint32_t number) {
    const std::uint32_t ours = numbers[number];
    if (ours == outside) {
      instructions_outside += instructions[number];
    } else {
      writer.add(ours);
      ++recorded;
    }
  };
  constexpr std::uint32_t plugin_ends = ~0U;
  for (std::uint32_t number = 0; number != plugin_ends;) {
    if (std::fread(&number, sizeof number, 1, executed.get()) != 1 || number == emulator_ended ||
        (number != plugin_ends && numbers.size() <= number && !learn(number))) {
      throw bad_request(path + ": ended before its end was recorded, or became another program");
    }
    if (number != plugin_ends) add(number);
  }
  if (recorded == 0) {
    throw bad_request(path + ": nothing was executed that is in a procedure of its symbol table");
  }
  writer.finish(blocks, instructions_outside);
}

}  // namespace assay::layout
