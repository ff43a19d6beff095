// Which sanitizers the file that includes this is compiled with: each of these is 0 or 1.
//
//     #if ASSAY_THREAD_SANITIZER
//     __tsan_acquire(&word);                   // it does not see what assembler does
//     #endif
//
// gcc says it by macros of its own, clang by __has_feature.

#ifndef ASSAY_BASE_SANITIZERS_H_
#define ASSAY_BASE_SANITIZERS_H_

#if defined(__has_feature)
#define ASSAY_HAS_FEATURE(feature) __has_feature(feature)
#else
#define ASSAY_HAS_FEATURE(feature) 0
#endif

// AddressSanitizer, which looks for leaks too.
#if defined(__SANITIZE_ADDRESS__) || ASSAY_HAS_FEATURE(address_sanitizer)
#define ASSAY_ADDRESS_SANITIZER 1
#else
#define ASSAY_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || ASSAY_HAS_FEATURE(thread_sanitizer)
#define ASSAY_THREAD_SANITIZER 1
#else
#define ASSAY_THREAD_SANITIZER 0
#endif

#undef ASSAY_HAS_FEATURE

#endif  // ASSAY_BASE_SANITIZERS_H_
