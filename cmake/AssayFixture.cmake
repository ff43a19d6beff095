# assay_fixture(name SOURCE... [LIBRARIES lib...]): a program that times the fixtures of these sources (assay::fixture), linked
# with LIBRARIES. Beside it stands how it was linked, for experiments that draw its layout (assay_layout). Where the compiler is
# clang, the target NAME-fuzz is a fuzzer of the functions that the sources inspect (assay/fixture/inspected.h), which `assay inspect`
# builds.
function(assay_fixture name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE assay::fixture ${arg_LIBRARIES})
  assay_layout(${name})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
    add_executable(${name}-fuzz EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${name}-fuzz PRIVATE assay::assay ${arg_LIBRARIES})
    target_compile_definitions(${name}-fuzz PRIVATE ASSAY_FUZZED)
    target_compile_options(${name}-fuzz PRIVATE -O1 -g1 ${flags})
    target_link_options(${name}-fuzz PRIVATE ${flags})
  endif()
endfunction()
