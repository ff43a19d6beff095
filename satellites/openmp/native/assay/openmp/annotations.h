// What ThreadSanitizer is told, when a program was built with it and this library was not: which of
// the runtime's steps order memory. Without that it calls sound programs racy, as it does with
// libgomp.

#ifndef ASSAY_OPENMP_ANNOTATIONS_H_
#define ASSAY_OPENMP_ANNOTATIONS_H_

// Null where the program has no ThreadSanitizer.
extern "C" {
[[gnu::weak, gnu::visibility("default")]] void __tsan_acquire(void* of);  // NOLINT: its names
[[gnu::weak, gnu::visibility("default")]] void __tsan_release(void* of);  // NOLINT
}

namespace assay::omp {

// What the thread did comes before what others do after they acquired the same.
inline void release(const void* of) noexcept {
  if (__tsan_release != nullptr) __tsan_release(const_cast<void*>(of));
}
inline void acquire(const void* of) noexcept {
  if (__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(of));
}

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_ANNOTATIONS_H_
