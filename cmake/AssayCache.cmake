# ccache, where it is installed: what was compiled once, in any checkout, is not compiled again. For `make lint` it
# has clang-tidy called (tools/tidy), and keeps what it found nothing wrong with.
find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE AND (ASSAY_LINT OR NOT CMAKE_CXX_COMPILER_LAUNCHER))
  set(settings
    # Paths of the checkout do not count. (Those of which ccache does not know that they are paths are named. What is in the file
    # does count, as clang writes it among what it has read.)
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_IGNOREOPTIONS=-fsanitize-ignorelist=*
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_MAXSIZE=10G)
  if(ASSAY_LINT)
    list(APPEND settings ASSAY_LINT=${ASSAY_LINT} CCACHE_NAMESPACE=lint-${ASSAY_LINT} CCACHE_PREFIX=${PROJECT_SOURCE_DIR}/tools/tidy
      "CCACHE_EXTRAFILES=${PROJECT_SOURCE_DIR}/tools/tidy:${PROJECT_SOURCE_DIR}/.clang-tidy")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env ${settings} "${ASSAY_CCACHE}")
elseif(ASSAY_LINT)
  message(FATAL_ERROR "The preset lint needs ccache (make develop installs it).")
endif()
