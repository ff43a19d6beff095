// omp_alloc and its family.
#include <omp.h>
#include <stdint.h>

#include "api_check.h"

static int is_aligned(const void* at, uintptr_t to) { return (uintptr_t)at % to == 0; }

int main(void) {
  CHECK_EQUAL(omp_get_default_allocator(), omp_default_mem_alloc);
  char* const some = omp_alloc(1000, omp_default_mem_alloc);
  CHECK(some != NULL);
  memset(some, 7, 1000);
  char* const more = omp_realloc(some, 5000, omp_default_mem_alloc, omp_default_mem_alloc);
  CHECK(more != NULL && more[0] == 7 && more[999] == 7);
  memset(more, 8, 5000);
  omp_free(more, omp_null_allocator);
  omp_free(NULL, omp_null_allocator);

  char* const zeros = omp_calloc(30, 30, omp_null_allocator);
  for (int i = 0; i < 900; ++i) CHECK_EQUAL(zeros[i], 0);
  omp_free(zeros, omp_null_allocator);
  volatile size_t huge = (size_t)-1 / 2;
  CHECK(omp_calloc(huge, 4, omp_default_mem_alloc) == NULL);

  for (uintptr_t alignment = 1; alignment <= 4096; alignment *= 2) {
    char* const aligned = omp_aligned_alloc(alignment, 4096, omp_default_mem_alloc);
    CHECK(aligned != NULL && is_aligned(aligned, alignment));
    memset(aligned, 1, 4096);
    omp_free(aligned, omp_default_mem_alloc);
    char* const zeroed = omp_aligned_calloc(alignment, 64, 64, omp_default_mem_alloc);
    CHECK(zeroed != NULL && is_aligned(zeroed, alignment) && zeroed[4095] == 0);
    omp_free(zeroed, omp_default_mem_alloc);
  }

  const omp_alloctrait_t traits[] = {{omp_atk_alignment, 256},
                                     {omp_atk_pool_size, 10000},
                                     {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t small = omp_init_allocator(omp_default_mem_space, 3, traits);
  CHECK(small != omp_null_allocator);
  void* const first = omp_alloc(6000, small);
  CHECK(first != NULL && is_aligned(first, 256));
  CHECK(omp_alloc(6000, small) == NULL);
  omp_free(first, small);
  void* const again = omp_alloc(6000, small);
  CHECK(again != NULL);

  const omp_alloctrait_t other[] = {{omp_atk_pool_size, 10},
                                    {omp_atk_fallback, omp_atv_allocator_fb},
                                    {omp_atk_fb_data, (omp_uintptr_t)small}};
  const omp_allocator_handle_t tiny = omp_init_allocator(omp_default_mem_space, 3, other);
  CHECK(tiny != omp_null_allocator);
  void* const from_small = omp_alloc(1000, tiny);
  CHECK(from_small != NULL && is_aligned(from_small, 256));
  CHECK(omp_alloc(9000, tiny) == NULL);
  omp_free(from_small, tiny);
  omp_free(again, small);

  const omp_alloctrait_t wrong[] = {{omp_atk_alignment, 3}};
  CHECK(omp_init_allocator(omp_default_mem_space, 1, wrong) == omp_null_allocator);

  omp_set_default_allocator(small);
  CHECK(omp_get_default_allocator() == small);
#pragma omp parallel num_threads(2)
  CHECK(omp_get_default_allocator() == small);
  void* const by_default = omp_alloc(100, omp_null_allocator);
  CHECK(is_aligned(by_default, 256));
  omp_free(by_default, omp_null_allocator);
  omp_set_default_allocator(omp_default_mem_alloc);

  int shared = 3;
#pragma omp parallel num_threads(2) firstprivate(shared) allocate(omp_default_mem_alloc : shared)
  CHECK_EQUAL(shared, 3);
  omp_destroy_allocator(tiny);
  omp_destroy_allocator(small);
  return 0;
}
