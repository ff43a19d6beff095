#include "assay/openmp/reductions.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

using word = std::uintptr_t;

constexpr std::size_t variables = 0;
constexpr std::size_t bytes = 1;
constexpr std::size_t memory = 2;  // before it is registered: alignment
constexpr std::size_t following = 4;
constexpr std::size_t begins_group = 5;
constexpr std::size_t memory_end = 6;
constexpr std::size_t entries = 7;
constexpr std::size_t entry_words = 3;

// NOLINTNEXTLINE(performance-no-int-to-ptr)
word* next(const word* array) { return reinterpret_cast<word*>(array[following]); }

// Either the variable's entry in an array, or null. `same(address, offset)` says which it is.
template <class Same>
const word* find(const word* array, const Same& same) {
  for (word i = 0; i < array[variables]; ++i) {
    const word* const entry = array + entries + i * entry_words;
    if (same(entry[0], entry[1])) return entry;
  }
  return nullptr;
}

void take_memory(word* array, unsigned threads) {
  // As aligned_alloc() asks for, a multiple of the alignment.
  const word alignment = std::max<word>(array[memory], sizeof(void*));
  const word size = (array[bytes] * threads + alignment - 1) / alignment * alignment;
  void* const taken = std::aligned_alloc(alignment, size);
  if (taken == nullptr) throw std::bad_alloc();
  std::memset(taken, 0, size);
  array[memory] = reinterpret_cast<word>(taken);
  array[memory_end] = array[memory] + size;
}

}  // namespace

void register_reductions(taskgroup& group, word* arrays, const word* first, unsigned threads) {
  word* array = arrays;
  while (true) {
    array[begins_group] = array == arrays ? 1 : 0;
    if (first == nullptr) {
      take_memory(array, threads);
    } else {
      array[memory] = first[memory];
      array[memory_end] = first[memory_end];
      first = next(first);
    }
    if (next(array) == nullptr) break;
    array = next(array);
  }
  array[following] = reinterpret_cast<word>(group.reductions);
  group.reductions = arrays;
}

void register_reductions(word* arrays, const word* first, unsigned threads) {
  register_reductions(*self().current->group, arrays, first, threads);
}

void unregister_reductions(word* arrays) {
  word* array = arrays;
  do {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    std::free(reinterpret_cast<void*>(array[memory]));
    array = next(array);
  } while (array != nullptr && array[begins_group] == 0);
}

void* part_of(const void* variable, void** original) {
  const thread& mine = self();
  const taskgroup* const group = mine.current->group;
  const auto address = reinterpret_cast<word>(variable);
  const auto part = [&](const word* array, word offset) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(array[memory] + mine.me->id * array[bytes] + offset);
  };
  const word* const innermost = group == nullptr ? nullptr : group->reductions;
  for (const word* array = innermost; array != nullptr; array = next(array)) {
    const word* const entry = find(array, [&](word of, word) { return of == address; });
    if (entry == nullptr) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (original != nullptr) *original = reinterpret_cast<void*>(entry[0]);
    return part(array, entry[1]);
  }
  for (const word* array = innermost; array != nullptr; array = next(array)) {
    if (address < array[memory] || address >= array[memory_end]) continue;
    const word in_part = (address - array[memory]) % array[bytes];
    if (original != nullptr) {
      const word* const entry = find(array, [&](word, word offset) { return offset == in_part; });
      if (entry == nullptr) break;
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      *original = reinterpret_cast<void*>(entry[0]);
    }
    return part(array, in_part);
  }
  std::fprintf(stderr,
               "libassay-gomp: in_reduction of %p, which no task_reduction clause around it names; "
               "add it to that of the taskgroup or taskloop\n",
               variable);
  std::abort();
}

}  // namespace assay::omp
