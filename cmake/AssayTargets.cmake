# How this project's own targets are built. Nothing here is installed or reaches a consumer.

add_library(assay_warnings INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  # After Bonnichsen's thesis, listing 2.1, less what C++20 compilers turn on by themselves and less
  # the attribute suggestions, which the two compilers do not share.
  target_compile_options(assay_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual
    -Wold-style-cast -Woverloaded-virtual -Wnon-virtual-dtor -Wnull-dereference -Wdouble-promotion
    -Wformat=2 -Wimplicit-fallthrough -Wundef -Wextra-semi
    $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wuseless-cast
      -Wsuggest-override -Wformat-signedness -Wstrict-overflow=1 -Wtrampolines>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wsuggest-override -Wnewline-eof>)
else()
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)  # a warning in Assay is not the project's mistake
endif()

# Headers of tests that several tests share, as "tests/maps/trees_test_types.h".
add_library(assay_test_support INTERFACE)
target_include_directories(assay_test_support INTERFACE "${PROJECT_SOURCE_DIR}/concurrent")

# For what is measured: each function and variable in a section of its own, which a linker can move (AssayLayout.cmake).
set(ASSAY_SECTIONS "")
if(NOT ASSAY_LINT AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(ASSAY_SECTIONS -ffunction-sections -fdata-sections)
endif()

# assay_library(name SOURCE... LIBRARIES lib...): one static library that is installed with the package.
# LIBRARIES are those that its headers need too; what only its sources need is linked PRIVATE afterwards.
function(assay_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC assay::assay ${arg_LIBRARIES}
    PRIVATE "$<BUILD_INTERFACE:assay_warnings>")
  target_compile_options(${name} PRIVATE ${ASSAY_SECTIONS})
  assay_precompile(${name})
endfunction()

# Which sanitizer this build has: address, thread, or empty where code is as it is measured.
set(ASSAY_SANITIZER "")
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=(address|thread)")
  set(ASSAY_SANITIZER ${CMAKE_MATCH_1})
endif()

# Whether models and refusals to compile are tested here: once, not with each sanitizer again.
set(ASSAY_MODELS OFF)
if(ASSAY_TESTS AND NOT ASSAY_SANITIZER AND NOT ASSAY_LINT)
  set(ASSAY_MODELS ON)
endif()

# assay_test(name SOURCE... [LIBRARIES lib...] [DEFINITIONS definition...] [SANITIZERS kind...] [SANITIZED] [SOAK] [UNOPTIMISED]):
# one GoogleTest program, which ctest runs as a whole: a process for each of its tests takes half as long again under sanitizers.
# It is built without sanitizers and with those named (or `none`), by default both: a test of one thread has nothing to show to
# ThreadSanitizer. Of one that is SANITIZED, `make test` has no run without them, which would show no more; `make soak` has.
# One of the SOAK only `make soak` builds. Tests are optimised little: what they test is in libraries that are, or is tested so
# by the rig; UNOPTIMISED not at all, where compiling takes longer than running: that halves it, or better.
function(assay_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SANITIZED;SOAK;UNOPTIMISED" "" "LIBRARIES;DEFINITIONS;SANITIZERS")
  if(NOT DEFINED arg_SANITIZERS)
    set(arg_SANITIZERS address thread)
  endif()
  if(NOT ASSAY_TESTS OR (ASSAY_SANITIZER AND NOT ASSAY_SANITIZER IN_LIST arg_SANITIZERS))
    return()
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} assay_warnings assay_test_support GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  if(arg_UNOPTIMISED)
    target_compile_options(${name} PRIVATE -O0)
  else()
    assay_optimise_little(${name})
    assay_precompile(${name} TESTS)
  endif()
  if(arg_SOAK OR (arg_SANITIZED AND NOT ASSAY_SANITIZER AND NOT ASSAY_LINT))
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  else()
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 1200)
  endif()
endfunction()

# assay_precompile(target [TESTS]): compiles once what nearly every source includes first, and takes about a second. Not of what gcc
# compiles to be measured: it would make other code of the same source. An #include that is missing is found there.
function(assay_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "" "")
  set(headers vector algorithm array atomic chrono cstdint functional map memory mutex optional random set span stdexcept string
    string_view thread utility)
  set(precompiled assay_precompiled)
  if(arg_TESTS)
    list(PREPEND headers gmock/gmock.h)
    string(APPEND precompiled _tests)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND PROJECT_IS_TOP_LEVEL)
    # Clang writes down where each header stands that it precompiles, and of when it is. The one that CMake would make is another
    # one in each checkout, and ccache would know no source again: this is one of the system's, which brings the others.
    set(file "${PROJECT_BINARY_DIR}/${precompiled}.pch")
    if(NOT TARGET ${precompiled})
      list(POP_FRONT headers first)
      find_file(${precompiled}_header ${first} PATHS ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES} REQUIRED)
      list(TRANSFORM headers PREPEND "-include;")
      string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
      separate_arguments(flags UNIX_COMMAND
        "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${CMAKE_CXX20_STANDARD_COMPILE_OPTION}")
      if(arg_TESTS)
        list(APPEND flags "$<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>")
      endif()
      add_custom_command(OUTPUT "${file}"
        COMMAND "${CMAKE_CXX_COMPILER}" ${flags} -fpch-instantiate-templates ${headers} -MD -MF "${file}.d" -MT "${file}"
          -x c++-header "${${precompiled}_header}" -o "${file}"
        DEPFILE "${file}.d" VERBATIM COMMAND_EXPAND_LISTS)
      add_custom_target(${precompiled} DEPENDS "${file}")
    endif()
    add_dependencies(${target} ${precompiled})
    target_compile_options(${target} PRIVATE "SHELL:-include-pch ${file}")
  elseif(arg_TESTS)
    if(NOT TARGET ${precompiled})
      file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/precompiled.cpp" CONTENT "")
      add_library(${precompiled} OBJECT "${PROJECT_BINARY_DIR}/precompiled.cpp")
      target_link_libraries(${precompiled} PRIVATE assay_warnings GTest::gmock)
      assay_optimise_little(${precompiled})
      list(TRANSFORM headers REPLACE ".+" "<\\0>")
      target_precompile_headers(${precompiled} PRIVATE ${headers})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

# What takes a third to a half longer to compile where it is optimised as what is measured is, and is not measured.
function(assay_optimise_little)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O1>")
  endforeach()
endfunction()
