// omp_*: places, and what threads say about where they are.

#include "assay/openmp/affinity.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "assay/openmp/affinity_format.h"
#include "assay/openmp/entries/entry.h"
#include "assay/openmp/entries/fortran.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

const processor_list* place_number(int number) noexcept {
  const auto& all = places();
  if (number < 0 || static_cast<std::size_t>(number) >= all.size()) return nullptr;
  return &all[static_cast<std::size_t>(number)];
}

template <class Number>
void copy_place(int number, Number* to) {
  if (const processor_list* const place = place_number(number)) std::ranges::copy(*place, to);
}

template <class Number>
void copy_partition(Number* to) {
  const seat& at = self().me->at;
  for (unsigned i = 0; i < at.count; ++i)
    *to++ = static_cast<Number>(at.first) + static_cast<Number>(i);
}

// As snprintf does: what fits, and a zero. Returns how long it is.
std::size_t copy_text(const std::string& text, char* to, std::size_t room) {
  if (room != 0) {
    const std::size_t fits = std::min(room - 1, text.size());
    std::memcpy(to, text.data(), fits);
    to[fits] = '\0';
  }
  return text.size();
}

// The same in Fortran: filled up with spaces.
std::int32_t fill_text(const std::string& text, char* to, std::size_t room) {
  const std::size_t fits = std::min(room, text.size());
  // NOLINTNEXTLINE(bugprone-not-null-terminated-result): Fortran has none
  std::memcpy(to, text.data(), fits);
  std::memset(to + fits, ' ', room - fits);
  return static_cast<std::int32_t>(text.size());
}

std::string_view fortran_text(const char* text, std::size_t length) {
  std::string_view given(text, length);
  while (!given.empty() && given.back() == ' ') given.remove_suffix(1);
  return given;
}

std::string affinity_text(std::string_view format) {
  static_cast<void>(enter());
  return describe_affinity(format.empty() ? affinity_format() : std::string(format));
}

std::string_view or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

ASSAY_OPENMP_ENTRY int omp_get_proc_bind() {
  const auto& by_level = process_settings().proc_bind;
  if (by_level.empty()) return static_cast<int>(binding::no);
  return static_cast<int>(
      by_level[std::min<std::size_t>(self().me->in->level, by_level.size() - 1)]);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_proc_bind)

ASSAY_OPENMP_ENTRY int omp_get_num_places() { return static_cast<int>(places().size()); }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_num_places)

ASSAY_OPENMP_ENTRY int omp_get_place_num() {
  return places().empty() ? -1 : static_cast<int>(self().me->at.place);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_place_num)

ASSAY_OPENMP_ENTRY int omp_get_place_num_procs(int number) {
  const processor_list* const place = place_number(number);
  return place == nullptr ? 0 : static_cast<int>(place->size());
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(std::int32_t, omp_get_place_num_procs)

ASSAY_OPENMP_ENTRY void omp_get_place_proc_ids(int number, int* ids) { copy_place(number, ids); }
ASSAY_OPENMP_ENTRY void omp_get_place_proc_ids_(const std::int32_t* number, std::int32_t* ids) {
  copy_place(*number, ids);
}
ASSAY_OPENMP_ENTRY void omp_get_place_proc_ids_8_(const std::int64_t* number, std::int64_t* ids) {
  copy_place(narrowed(*number), ids);
}

ASSAY_OPENMP_ENTRY int omp_get_partition_num_places() {
  return static_cast<int>(self().me->at.count);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_partition_num_places)

ASSAY_OPENMP_ENTRY void omp_get_partition_place_nums(int* numbers) { copy_partition(numbers); }
ASSAY_OPENMP_ENTRY void omp_get_partition_place_nums_(std::int32_t* numbers) {
  copy_partition(numbers);
}
ASSAY_OPENMP_ENTRY void omp_get_partition_place_nums_8_(std::int64_t* numbers) {
  copy_partition(numbers);
}

ASSAY_OPENMP_ENTRY void omp_set_affinity_format(const char* format) {
  static_cast<void>(enter());
  set_affinity_format(or_empty(format));
}
ASSAY_OPENMP_ENTRY void omp_set_affinity_format_(const char* format, std::size_t length) {
  static_cast<void>(enter());
  set_affinity_format(fortran_text(format, length));
}

ASSAY_OPENMP_ENTRY std::size_t omp_get_affinity_format(char* to, std::size_t room) {
  static_cast<void>(enter());
  return copy_text(affinity_format(), to, room);
}
ASSAY_OPENMP_ENTRY std::int32_t omp_get_affinity_format_(char* to, std::size_t room) {
  static_cast<void>(enter());
  return fill_text(affinity_format(), to, room);
}

ASSAY_OPENMP_ENTRY void omp_display_affinity(const char* format) {
  std::fprintf(stderr, "%s\n", affinity_text(or_empty(format)).c_str());
}
ASSAY_OPENMP_ENTRY void omp_display_affinity_(const char* format, std::size_t length) {
  std::fprintf(stderr, "%s\n", affinity_text(fortran_text(format, length)).c_str());
}

ASSAY_OPENMP_ENTRY std::size_t omp_capture_affinity(char* to, std::size_t room,
                                                    const char* format) {
  return copy_text(affinity_text(or_empty(format)), to, room);
}
ASSAY_OPENMP_ENTRY std::int32_t omp_capture_affinity_(char* to, const char* format,
                                                      std::size_t room, std::size_t length) {
  return fill_text(affinity_text(fortran_text(format, length)), to, room);
}

}  // namespace assay::omp
