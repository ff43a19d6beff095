# assay_subject(name SOURCE... [LIBRARIES lib...]): a program that measures the maps of these sources, and, where the rig is
# installed, one that checks them. `name` runs trials (assay::trial). `name-rig` looks for mistakes (assay::rig); it has the marks
# (ASSAY_POINT), and is built by `assay check` or when it is asked for. Both are linked with LIBRARIES. Beside `name` stands how
# it was linked, for experiments that draw its layout (assay_layout).
function(assay_subject name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE assay::trial ${arg_LIBRARIES})
  assay_layout(${name})
  if(TARGET assay::rig)
    add_executable(${name}-rig EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${name}-rig PRIVATE assay::rig ${arg_LIBRARIES})
  endif()
endfunction()
