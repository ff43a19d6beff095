# Mistakes planted in copies of headers, by replacing a text that stands in the header once: a header that is changed elsewhere
# keeps its mistakes, and one in which the text no longer stands is noticed here.
include_guard()

# assay_replace_once(variable name right wrong): in the text that the variable holds, for the mistake of that name.
function(assay_replace_once variable name right wrong)
  set(text "${${variable}}")
  string(REPLACE "${right}" "" rest "${text}")
  string(LENGTH "${text}" length)
  string(LENGTH "${rest}" rest_length)
  string(LENGTH "${right}" right_length)
  math(EXPR times "(${length} - ${rest_length}) / ${right_length}")
  if(NOT times EQUAL 1)
    message(FATAL_ERROR "The header has this ${times} times, not once, where ${name} is to be planted:\n${right}")
  endif()
  string(REPLACE "${right}" "${wrong}" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# assay_planted_header(name header right wrong): makes "NAME.h", for those that link assay_planted_NAME: a header of
# concurrent/include whose namespace is assay::mistaken::NAME, so that a program may have both.
function(assay_planted_header name header right wrong)
  set(original "${PROJECT_SOURCE_DIR}/concurrent/include/${header}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${original}")
  file(READ "${original}" text)
  assay_replace_once(text ${name} "${right}" "${wrong}")
  assay_replace_once(text ${name} "\nnamespace assay {\n" "\nnamespace assay::mistaken::${name} {\n")
  string(REGEX REPLACE "(#ifndef|#define) ASSAY_[A-Z_]+_H_\n" "" text "${text}")
  string(REGEX REPLACE "#endif  // ASSAY_[A-Z_]+_H_\n" "" text "${text}")
  set(folder "${PROJECT_BINARY_DIR}/planted/${name}")
  file(GENERATE OUTPUT "${folder}/${name}.h" CONTENT "#pragma once\n${text}")
  add_library(assay_planted_${name} INTERFACE)
  target_include_directories(assay_planted_${name} INTERFACE "${folder}")
endfunction()
