# assay_fixture(name SOURCE... [LIBRARIES lib...]): a program that times the fixtures of these sources (assay::fixture), linked
# with LIBRARIES. Beside it stands how it was linked, for experiments that draw its layout (assay_layout).
function(assay_fixture name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE assay::fixture ${arg_LIBRARIES})
  assay_layout(${name})
endfunction()
