# assay/host/build_info.h: what this build is, as constants. Written at build time, so that it follows
# the commit, and rewritten only when it changes. Link assay_build_info to include it.

set(ASSAY_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX20_STANDARD_COMPILE_OPTION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" flags)
string(REGEX REPLACE " +" " " flags "${flags}")
add_custom_target(assay_build_info_header
  COMMAND "${CMAKE_COMMAND}"
    "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "-DTEMPLATE=${PROJECT_SOURCE_DIR}/cmake/build_info.h.in"
    "-DOUTPUT=${ASSAY_GENERATED_DIR}/assay/host/build_info.h"
    "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    "-DFLAGS=${flags}"
    "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}"
    -P "${PROJECT_SOURCE_DIR}/cmake/write_build_info.cmake"
  BYPRODUCTS "${ASSAY_GENERATED_DIR}/assay/host/build_info.h"
  COMMENT "" VERBATIM)

add_library(assay_build_info INTERFACE)
add_dependencies(assay_build_info assay_build_info_header)
target_include_directories(assay_build_info INTERFACE "${ASSAY_GENERATED_DIR}")
