# Uses Assay as other people do: the headers and a subject with what the build in BUILD installs, and a subject in a
# project that takes Assay's source in. The subject is the one that `assay new subject` writes, the fixtures are those of
# `assay new fixture`, of `assay new function`, of docs/guide/fixtures.md and of examples/order_book; the one with probes is
# that of docs/guide/probes.md. Builds and runs all programs of the pages reclamation, trees, bt_map and
# elb_trees of docs/guide too.
# Run by ctest with -D: BUILD, COMPILER, GENERATOR, LLD.
set(source "${CMAKE_CURRENT_LIST_DIR}/../..")
set(subject "${source}/python/assay/cli/templates/subject")
set(fixture "${source}/python/assay/cli/templates/fixture")
set(work "${BUILD}/consumer")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${ARGN} failed (${failed}):\n${output}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix")
function(build consumer from target)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${from}" -B "${work}/${consumer}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    -DCMAKE_BUILD_TYPE=Release ${ARGN})
  run("${CMAKE_COMMAND}" --build "${work}/${consumer}" --target ${target})
endfunction()
build(headers "${CMAKE_CURRENT_LIST_DIR}/headers" draw_operations "-DCMAKE_PREFIX_PATH=${work}/prefix")
build(subject "${subject}" subject "-DCMAKE_PREFIX_PATH=${work}/prefix")
build(subdirectory "${CMAKE_CURRENT_LIST_DIR}/subdirectory" subject "-DASSAY=${source}" "-DSUBJECT=${subject}"
  -DCMAKE_BUILD_TYPE=Debug)  # half the time of Release, as it compiles much

file(READ "${source}/docs/guide/probes.md" guide)
string(REPLACE "```" "\\" guide "${guide}")  # a single character, for the expression below
if(NOT guide MATCHES "\\\\cpp\n(// my_map.cpp[^\\]*)\\\\")
  message(FATAL_ERROR "docs/guide/probes.md shows no my_map.cpp")
endif()
file(WRITE "${work}/probed_source/my_map.cpp" "${CMAKE_MATCH_1}")
file(COPY "${subject}/CMakeLists.txt" DESTINATION "${work}/probed_source")
build(probed "${work}/probed_source" subject "-DCMAKE_PREFIX_PATH=${work}/prefix")

# programs_of(page to): writes each block of C++ of a page whose first line says a file's name into a folder.
function(programs_of page to)
  file(READ "${page}" guide)
  set(found FALSE)
  set(fence "```cpp\n")
  string(FIND "${guide}" "${fence}" start)
  while(start GREATER -1)
    math(EXPR start "${start} + 7")  # the length of the fence
    string(SUBSTRING "${guide}" ${start} -1 guide)
    string(FIND "${guide}" "```" end)
    string(SUBSTRING "${guide}" 0 ${end} program)
    if(program MATCHES "^// ([a-z_]+.cpp): ")
      file(WRITE "${to}/${CMAKE_MATCH_1}" "${program}")
      set(found TRUE)
    endif()
    string(FIND "${guide}" "${fence}" start)
  endwhile()
  if(NOT found)
    message(FATAL_ERROR "${page} shows no program")
  endif()
endfunction()
foreach(page reclamation trees bt_map elb_trees)
  programs_of("${source}/docs/guide/${page}.md" "${work}/examples_source")
endforeach()
# As that page says, it is the same program with the other tree.
file(READ "${work}/examples_source/trees.cpp" program)
string(REPLACE natarajan_mittal_bst ticket_bst program "${program}")
file(WRITE "${work}/examples_source/other_trees.cpp" "${program}")
build(examples "${CMAKE_CURRENT_LIST_DIR}/examples" examples
  "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DEXAMPLES=${work}/examples_source")

build(fixture "${fixture}" fixtures "-DCMAKE_PREFIX_PATH=${work}/prefix")
build(function "${source}/python/assay/cli/templates/function" functions "-DCMAKE_PREFIX_PATH=${work}/prefix")
build(order_book "${source}/examples/order_book" order_book "-DCMAKE_PREFIX_PATH=${work}/prefix")
file(READ "${source}/docs/guide/fixtures.md" guide)
string(REPLACE "```" "\\" guide "${guide}")
if(NOT guide MATCHES "\\\\cpp\n([^\\]*)\\\\")
  message(FATAL_ERROR "docs/guide/fixtures.md shows no fixture")
endif()
file(WRITE "${work}/guide_source/my_fixture.cpp" "${CMAKE_MATCH_1}")
file(COPY "${fixture}/CMakeLists.txt" DESTINATION "${work}/guide_source")
build(guide_fixture "${work}/guide_source" fixtures "-DCMAKE_PREFIX_PATH=${work}/prefix")
foreach(program "${work}/fixture/fixtures" "${work}/guide_fixture/fixtures" "${work}/order_book/order_book")
  execute_process(COMMAND "${program}" --sizes 16,100 --iterations 20 OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "count +min +p25.*/16 +20 ")
    message(FATAL_ERROR "${program} prints ${output}")
  endif()
endforeach()


run("${work}/headers/draw_operations")
file(WRITE "${work}/request.json" [[
{"protocol": 1, "subject": "my_map", "seed": 1, "threads": 2, "pinning": "none", "key_range": 1000,
 "keys": "sparse", "mix": {"insert": 20, "erase": 10, "find": 70}, "duration_ms": 20, "interval_ms": 10}]])
foreach(program "${work}/subject/subject" "${work}/subdirectory/subject" "${work}/probed/subject")
  execute_process(COMMAND "${program}" --list OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
  string(JSON subjects LENGTH "${list}")
  string(JSON name GET "${list}" 0 name)
  if(NOT "${subjects} ${name}" STREQUAL "1 my_map")
    message(FATAL_ERROR "${program} lists ${list}")
  endif()
  execute_process(COMMAND "${program}" INPUT_FILE "${work}/request.json"
    OUTPUT_VARIABLE result COMMAND_ERROR_IS_FATAL ANY)
  string(JSON status GET "${result}" status)
  if(NOT status STREQUAL "valid")
    message(FATAL_ERROR "the trial of ${program} is ${status}: ${result}")
  endif()
endforeach()
# Each can be linked in another layout, the installed program of ours too: from what lld recorded, with nothing else.
foreach(program "${work}/subject/subject" "${work}/subdirectory/subject" "${work}/fixture/fixtures" "${work}/prefix/bin/assay-trial")
  set(inputs "${work}/inputs")
  file(REMOVE_RECURSE "${inputs}")
  file(MAKE_DIRECTORY "${inputs}")
  run(tar -xf "${program}.link.tar" --strip-components=1 -C "${inputs}")
  execute_process(COMMAND "${LLD}" @response.txt "--shuffle-sections=.text*=1" -o "${inputs}/drawn"
    WORKING_DIRECTORY "${inputs}" COMMAND_ERROR_IS_FATAL ANY)
  run("${inputs}/drawn" --list)
endforeach()
# What satellites make of these projects.
file(GLOB satellites "${source}/satellites/*/tests/consumer.cmake")
foreach(satellite ${satellites})
  include("${satellite}")
endforeach()
execute_process(COMMAND "${work}/prefix/bin/assay-trial" --list OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
if(NOT list MATCHES "std_map_mutex")
  message(FATAL_ERROR "the installed assay-trial lists ${list}")
endif()
