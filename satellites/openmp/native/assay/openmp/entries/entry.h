// What a program calls: the functions of libgomp, by their names and in their versions
// (versions.map).

#ifndef ASSAY_OPENMP_ENTRIES_ENTRY_H_
#define ASSAY_OPENMP_ENTRIES_ENTRY_H_

#define ASSAY_OPENMP_ENTRY extern "C" [[gnu::visibility("default")]]

#endif  // ASSAY_OPENMP_ENTRIES_ENTRY_H_
