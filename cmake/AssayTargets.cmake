# How this project's own targets are built. Nothing here is installed or reaches a consumer.

add_library(assay_warnings INTERFACE)
# After Bonnichsen's thesis, listing 2.1, less what C++20 compilers turn on by themselves and less
# the attribute suggestions, which the two compilers do not share.
target_compile_options(assay_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual
  -Wold-style-cast -Woverloaded-virtual -Wnon-virtual-dtor -Wnull-dereference -Wdouble-promotion
  -Wformat=2 -Wimplicit-fallthrough -Wundef -Wextra-semi
  $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wuseless-cast
    -Wsuggest-override -Wformat-signedness -Wstrict-overflow=1 -Wtrampolines>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wsuggest-override -Wnewline-eof>)

# assay_library(name SOURCE... LIBRARIES lib...): one static library that is installed with the package.
# LIBRARIES are those that its headers need too; what only its sources need is linked PRIVATE afterwards.
function(assay_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC assay::assay ${arg_LIBRARIES}
    PRIVATE "$<BUILD_INTERFACE:assay_warnings>")
endfunction()

# assay_test(name SOURCE... LIBRARIES lib...): one GoogleTest program, which ctest runs as a whole: a process for each
# of its tests takes half as long again under sanitizers.
function(assay_test name)
  if(NOT ASSAY_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} assay_warnings GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()

# Tests that take a third to a half longer to compile where they are optimised as what is measured is, and need not be:
# what they test is in libraries that are, or is tested so by the rig.
function(assay_optimise_little)
  foreach(target ${ARGN})
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O1>")
    endif()
  endforeach()
endfunction()

# What tests spend most of their time in, which AddressSanitizer's preset does not optimise otherwise: it compiles fast.
function(assay_optimise_under_asan)
  foreach(target ${ARGN})
    if(TARGET ${target} AND CMAKE_CXX_FLAGS MATCHES "sanitize=address")
      target_compile_options(${target} PRIVATE -O1)
    endif()
  endforeach()
endfunction()
