#include "assay/layout/trace.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "assay/input/bad_request.h"

namespace assay::layout {
namespace {

constexpr std::string_view magic = "assay-trace 1 ";
constexpr std::size_t footer_bytes = 128;
constexpr int level = 3;  // 400 MB/s and more; higher levels save some percent

static_assert(sizeof(block) == 12);

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw bad_request(path.string() + ": " + why);
}

std::string all_of(const std::filesystem::path& path) {
  const std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, "cannot be read: " + std::generic_category().message(errno));
  std::ostringstream all;
  all << in.rdbuf();
  if (in.bad()) refuse(path, "cannot be read to its end");
  return std::move(all).str();
}

// The one frame that is all of `packed`, as `count` things.
template <class T>
std::vector<T> unpacked(const std::filesystem::path& path, std::string_view packed,
                        std::uint64_t count) {
  std::vector<T> things(count);
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     ZSTD_freeDCtx);
  const std::size_t bytes = ZSTD_decompressDCtx(context.get(), things.data(), count * sizeof(T),
                                                packed.data(), packed.size());
  if (ZSTD_isError(bytes) != 0 || bytes != count * sizeof(T)) {
    refuse(path, "is damaged; record it again");
  }
  return things;
}

void read_header(std::string_view text, trace& to) {
  const auto header = nlohmann::json::parse(text);
  header.at("program").get_to(to.program);
  header.at("build_id").get_to(to.build_id);
  for (const auto& each : header.at("procedures")) {
    to.procedures.push_back({.name = each.at(0).get<std::string>(),
                             .address = each.at(1).get<std::uint64_t>(),
                             .bytes = each.at(2).get<std::uint32_t>(),
                             .movable = each.at(3).get<int>() != 0});
  }
}

}  // namespace

trace read_trace(const std::filesystem::path& path) {
  const std::string text = all_of(path);
  const std::string_view all = text;
  if (!all.starts_with(magic)) refuse(path, "is no trace that assay layout has recorded");
  const std::size_t header_end = all.find('\n');
  std::uint64_t executed_bytes = 0;
  std::uint64_t blocks_bytes = 0;
  std::uint64_t executed = 0;
  std::uint64_t blocks = 0;
  trace found;
  std::string word;
  if (header_end != all.npos && all.size() >= header_end + 1 + footer_bytes) {
    std::istringstream footer(text.substr(all.size() - footer_bytes));
    footer >> word >> executed_bytes >> blocks_bytes >> executed >> blocks >> found.outside;
    if (!footer) word.clear();
  }
  if (word != "end" ||
      header_end + 1 + executed_bytes + blocks_bytes + footer_bytes != all.size()) {
    refuse(path, "is truncated; record it again");
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 40U;
  if (executed > most || blocks > most) refuse(path, "is damaged; record it again");
  try {
    read_header(all.substr(magic.size(), header_end - magic.size()), found);
  } catch (const nlohmann::json::exception&) {
    refuse(path, "is damaged; record it again");
  }
  const std::string_view body = all.substr(header_end + 1);
  found.executed = unpacked<std::uint32_t>(path, body.substr(0, executed_bytes), executed);
  found.blocks = unpacked<block>(path, body.substr(executed_bytes, blocks_bytes), blocks);
  for (const block& each : found.blocks) {
    if (each.procedure >= found.procedures.size()) refuse(path, "is damaged; record it again");
  }
  for (const std::uint32_t each : found.executed) {
    if (each >= blocks) refuse(path, "is damaged; record it again");
    found.instructions += found.blocks[each].instructions;
  }
  return found;
}

struct trace_writer::stream {
  std::filesystem::path path;
  std::FILE* file = nullptr;
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<std::uint32_t> waiting;
  std::vector<char> packed;
  std::uint64_t executed = 0;
  std::uint64_t written = 0;  // bytes of the present frame

  stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() {
    if (file != nullptr) std::fclose(file);
    ZSTD_freeCCtx(context);
  }

  [[noreturn]] void fail() const {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
  }
  void write(const void* from, std::size_t bytes) {
    if (std::fwrite(from, 1, bytes, file) != bytes) fail();
    written += bytes;
  }
  void pack(const void* from, std::size_t bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{from, bytes, 0};
    std::size_t left = 1;
    while (in.pos < in.size || (how == ZSTD_e_end && left != 0)) {
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      left = ZSTD_compressStream2(context, &out, &in, how);
      if (ZSTD_isError(left) != 0) throw std::bad_alloc();  // all other errors are of misuse
      write(packed.data(), out.pos);
    }
  }
};

trace_writer::trace_writer(const std::filesystem::path& path, const std::string& header)
    : to_(std::make_unique<stream>()) {
  to_->path = path;
  to_->packed.resize(ZSTD_CStreamOutSize());
  ZSTD_CCtx_setParameter(to_->context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(to_->context, ZSTD_c_checksumFlag, 1);
  to_->waiting.reserve(std::size_t{1} << 16U);
  to_->file = std::fopen(path.c_str(), "wb");
  if (to_->file == nullptr) to_->fail();
  to_->write(magic.data(), magic.size());
  to_->write(header.data(), header.size());
  to_->write("\n", 1);
  to_->written = 0;
}

trace_writer::~trace_writer() = default;

void trace_writer::add(std::uint32_t executed) {
  to_->waiting.push_back(executed);
  if (to_->waiting.size() < to_->waiting.capacity()) return;
  to_->executed += to_->waiting.size();
  to_->pack(to_->waiting.data(), to_->waiting.size() * sizeof(std::uint32_t), ZSTD_e_continue);
  to_->waiting.clear();
}

void trace_writer::finish(const std::vector<block>& blocks, std::uint64_t outside) {
  to_->executed += to_->waiting.size();
  to_->pack(to_->waiting.data(), to_->waiting.size() * sizeof(std::uint32_t), ZSTD_e_end);
  const std::uint64_t executed_bytes = to_->written;
  to_->written = 0;
  to_->pack(blocks.data(), blocks.size() * sizeof(block), ZSTD_e_end);
  std::array<char, footer_bytes + 1> footer{};
  const int length =
      std::snprintf(footer.data(), footer.size(), "end %lu %lu %lu %zu %lu", executed_bytes,
                    to_->written, to_->executed, blocks.size(), outside);
  std::fill(footer.begin() + length, footer.end() - 1, ' ');
  footer[footer_bytes - 1] = '\n';
  to_->write(footer.data(), footer_bytes);
  if (std::fclose(std::exchange(to_->file, nullptr)) != 0) to_->fail();
}

}  // namespace assay::layout
