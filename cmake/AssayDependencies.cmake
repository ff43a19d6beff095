# The libraries of assay::trial for which CMake has no package, as imported targets: assay::hwloc and assay::pfm.
# Used by the build and, installed, by those who link to it. Where a library is not found, its target is missing and
# `assay_missing` tells what to install.

set(assay_missing "")
function(assay_import library header package)
  find_library(ASSAY_${library}_LIBRARY ${library})
  find_path(ASSAY_${library}_INCLUDE_DIR ${header})
  if(NOT ASSAY_${library}_LIBRARY OR NOT ASSAY_${library}_INCLUDE_DIR)
    set(assay_missing "${assay_missing}Assay needs the library ${library} and ${header} (Debian's package ${package}). " PARENT_SCOPE)
  elseif(NOT TARGET assay::${library})
    add_library(assay::${library} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(assay::${library} PROPERTIES
      IMPORTED_LOCATION "${ASSAY_${library}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${ASSAY_${library}_INCLUDE_DIR}")
  endif()
endfunction()
assay_import(hwloc hwloc.h libhwloc-dev)
assay_import(pfm perfmon/pfmlib.h libpfm4-dev)
