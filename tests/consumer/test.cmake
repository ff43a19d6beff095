# Installs the build in BUILD, builds both consumers against what was installed, and runs them.
# Run by ctest with -D: BUILD, COMPILER, GENERATOR.
set(work "${BUILD}/consumer")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${ARGN} failed (${failed}):\n${output}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix")
foreach(consumer headers trial)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CMAKE_CURRENT_LIST_DIR}/${consumer}" -B "${work}/${consumer}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=${work}/prefix")
  run("${CMAKE_COMMAND}" --build "${work}/${consumer}")
endforeach()

run("${work}/headers/draw_operations")
file(WRITE "${work}/request.json" [[
{"protocol": 1, "subject": "my_map", "seed": 1, "threads": 2, "pinning": "none", "key_range": 1000,
 "keys": "sparse", "mix": {"insert": 20, "erase": 10, "find": 70}, "duration_ms": 20, "interval_ms": 10}]])
foreach(program "${work}/trial/my_map" "${work}/prefix/bin/assay-trial")
  execute_process(COMMAND "${program}" --list OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
  message("${program}: ${list}")
endforeach()
execute_process(COMMAND "${work}/trial/my_map" INPUT_FILE "${work}/request.json"
  OUTPUT_VARIABLE result COMMAND_ERROR_IS_FATAL ANY)
string(JSON status GET "${result}" status)
if(NOT status STREQUAL "valid")
  message(FATAL_ERROR "the trial is ${status}: ${result}")
endif()
