# Models of the protocols, by relacy, of the headers as they are; and with mistakes planted in them, which relacy must
# find, so that it is known which lines of the headers a model has an eye on. Relacy runs threads as fibres of its own, which
# sanitizers do not follow.
# assay_model(source [fences...]): with fences of these kinds that the product has (sync/model_atomics.h), by default both.
function(assay_model source)
  cmake_path(GET source STEM name)
  set(kinds ${ARGN})
  if(NOT kinds)
    set(kinds membarrier seq_cst)
  endif()
  foreach(fences ${kinds})
    _assay_model("${source}" ${name}_${fences} ${fences})
  endforeach()
endfunction()

# assay_mistake(source fences name header right wrong): the model of one kind of fences, with this mistake.
function(assay_mistake source fences name header right wrong)
  cmake_path(GET source STEM model)
  set(target ${model}_${fences}_finds_${name})
  _assay_model("${source}" ${target} ${fences})
  assay_plant(${target} ${name} "${header}" "${right}" "${wrong}")
endfunction()

# assay_plant(target name header right wrong): the target is compiled with a `header` that has `wrong` where it should have
# `right`, which stands there once, and with ASSAY_MISTAKE defined as the name.
function(assay_plant target name header right wrong)
  set(native "${PROJECT_SOURCE_DIR}/native")
  file(READ "${native}/${header}" text)
  string(REPLACE "${right}" "" rest "${text}")
  string(LENGTH "${text}" length)
  string(LENGTH "${rest}" rest_length)
  string(LENGTH "${right}" right_length)
  math(EXPR times "(${length} - ${rest_length}) / ${right_length}")
  if(NOT times EQUAL 1)
    message(FATAL_ERROR "${header} has this ${times} times, not once, where a mistake is to be planted:\n${right}")
  endif()
  string(REPLACE "${right}" "${wrong}" text "${text}")
  set(planted "${CMAKE_CURRENT_BINARY_DIR}/planted/${target}")
  file(GENERATE OUTPUT "${planted}/${header}" CONTENT "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${native}/${header}")
  target_include_directories(${target} BEFORE PRIVATE "${planted}")
  target_compile_definitions(${target} PRIVATE "ASSAY_MISTAKE=\"${name}\"")
endfunction()

function(_assay_model source name fences)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE assay::assay)
  # Relacy replaces only the plain ones of operator delete, and sees in what a destructor leaves that it has run.
  target_compile_options(${name} PRIVATE -O1 -fno-sized-deallocation -fno-lifetime-dse)
  target_compile_definitions(${name} PRIVATE ASSAY_PROBES=0
    ASSAY_MODEL_MEMBARRIER=$<STREQUAL:${fences},membarrier>
    [[ASSAY_ATOMICS_HEADER="assay/sync/model_atomics.h"]])
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120)
endfunction()
