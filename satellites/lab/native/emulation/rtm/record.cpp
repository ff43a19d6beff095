#include "emulation/rtm/record.h"

#include <link.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "assay/input/message.h"
#include "assay/input/output_file.h"

namespace assay::emulation {
namespace {

using nlohmann::json;

constexpr std::size_t most_lines = std::size_t{1} << 17U;

int add_object(dl_phdr_info* object, std::size_t /*bytes*/, void* with) {
  json segments = json::array();
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uint64_t first = object->dlpi_addr + part.p_vaddr;
    segments.push_back({first, first + part.p_memsz});
  }
  // The program itself, which comes first, has no name here.
  json& objects = *static_cast<json*>(with);
  const std::string path = objects.empty()
                               ? std::filesystem::read_symlink("/proc/self/exe").string()
                               : std::string(object->dlpi_name);
  objects.push_back(
      {{"path", path}, {"bias", object->dlpi_addr}, {"segments", std::move(segments)}});
  return 0;
}

void keep_first(std::uint64_t& kept, std::uint64_t value) {
  if (kept == 0) kept = value;
}

}  // namespace

void transaction_record::add(const observed& transaction) {
  const std::scoped_lock alone(alone_);
  site& at = sites_[{transaction.begin, transaction.section}];
  if (at.ended.empty()) {
    at.ended.resize(names_.size());
    at.number = sites_.size() - 1;
  }
  ++at.ended.at(transaction.why);
  ++at.threads[transaction.thread];
  observed& sums = at.sums;
  observed& most = at.most;
  if (transaction.why == 0) {
    sums.instructions += transaction.instructions;
    sums.instructions_after_write += transaction.instructions_after_write;
    sums.read_lines += transaction.read_lines;
    sums.written_lines += transaction.written_lines;
    sums.read_bytes += transaction.read_bytes;
    at.writing += transaction.first_write_at != 0 ? 1 : 0;
    at.followed += transaction.is_followed ? 1 : 0;
    sums.gap += transaction.gap;
  }
  keep_first(sums.first_write_at, transaction.first_write_at);
  keep_first(sums.fresh_at, transaction.fresh_at);
  keep_first(sums.fresh_page, transaction.fresh_page);
  at.fresh += transaction.fresh_at != 0 ? 1 : 0;
  most.read_lines = std::max(most.read_lines, transaction.read_lines);
  most.written_lines = std::max(most.written_lines, transaction.written_lines);
  most.fullest_read = std::max(most.fullest_read, transaction.fullest_read);
  most.fullest_written = std::max(most.fullest_written, transaction.fullest_written);
  if (transaction.why != 0 && !transaction.is_asked) {
    end& cause = at.ends[{transaction.why, transaction.at}];
    if (cause.count++ == 0) {
      cause.detail = transaction.detail;
      cause.calls = transaction.calls;
    }
  }
  if (!transaction.is_asked) {
    for (const touched_line& each : transaction.lines) {
      const std::tuple key(each.line, at.number, transaction.thread);
      auto found = lines_.find(key);
      if (found == lines_.end()) {
        if (lines_.size() == most_lines) {
          has_all_lines_ = false;
          continue;
        }
        found = lines_.try_emplace(key).first;
      }
      shared_line& line = found->second;
      ++line.touched;
      line.written += each.written != 0 ? 1 : 0;
      line.conflicts += each.conflicts ? 1 : 0;
      line.bytes.read |= each.read;
      line.bytes.written |= each.written;
      keep_first(line.bytes.read_at, each.read_at);
      keep_first(line.bytes.written_at, each.written_at);
    }
  }
  if (!std::has_single_bit(++transactions_) || !is_file_) return;
  try {
    write_all();
  } catch (const std::system_error&) {  // which the last time tells of
    return;
  }
}

bool transaction_record::write() try {
  const std::scoped_lock alone(alone_);
  if (transactions_ != 0) write_all();
  return true;
} catch (const std::system_error& error) {
  std::fprintf(stderr, "assay-rtm: the record is lost: %s\n", input::message(error.what()).c_str());
  return false;
}

void transaction_record::write_all() {
  json objects = json::array();
  program_.for_each_object(add_object, &objects);
  json sites = json::array();
  for (std::size_t i = 0; i < sites_.size(); ++i) sites.push_back(nullptr);
  for (const auto& [key, at] : sites_) {
    json ended = json::object();
    for (std::size_t i = 0; i < names_.size(); ++i) ended[std::string(names_[i])] = at.ended[i];
    json threads = json::array();
    for (const auto& [thread, count] : at.threads)
      threads.push_back({{"thread", thread}, {"transactions", count}});
    json ends = json::array();
    for (const auto& [reason, cause] : at.ends) {
      ends.push_back({{"why", names_[reason.first]},
                      {"at", reason.second},
                      {"count", cause.count},
                      {"detail", cause.detail},
                      {"calls", cause.calls}});
    }
    sites[at.number] = {{"begin", key.first},
                        {"section", key.second},
                        {"ended", std::move(ended)},
                        {"threads", std::move(threads)},
                        {"instructions", at.sums.instructions},
                        {"writing", at.writing},
                        {"instructions_after_write", at.sums.instructions_after_write},
                        {"first_write_at", at.sums.first_write_at},
                        {"read_lines", at.sums.read_lines},
                        {"written_lines", at.sums.written_lines},
                        {"read_bytes", at.sums.read_bytes},
                        {"most_read_lines", at.most.read_lines},
                        {"most_written_lines", at.most.written_lines},
                        {"fullest_read", at.most.fullest_read},
                        {"fullest_written", at.most.fullest_written},
                        {"fresh", at.fresh},
                        {"fresh_at", at.sums.fresh_at},
                        {"fresh_page", at.sums.fresh_page},
                        {"followed", at.followed},
                        {"gap", at.sums.gap},
                        {"ends", std::move(ends)}};
  }
  json lines = json::array();
  for (const auto& [key, line] : lines_) {
    lines.push_back({{"line", std::get<0>(key)},
                     {"site", std::get<1>(key)},
                     {"thread", std::get<2>(key)},
                     {"touched", line.touched},
                     {"written", line.written},
                     {"conflicts", line.conflicts},
                     {"read_bytes", line.bytes.read},
                     {"written_bytes", line.bytes.written},
                     {"read_at", line.bytes.read_at},
                     {"written_at", line.bytes.written_at}});
  }
  const json all = {{"sets", chosen_.sets},           {"ways", chosen_.ways},
                    {"read_ways", chosen_.read_ways}, {"objects", std::move(objects)},
                    {"sites", std::move(sites)},      {"lines", std::move(lines)},
                    {"has_all_lines", has_all_lines_}};
  input::write_output(chosen_.record,
                      all.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
}

}  // namespace assay::emulation
