# A part of tests/consumer/test.cmake: the program of the page randomness, and what that page says that it prints, there indented.
set(page "${source}/satellites/lab/docs/randomness.md")
programs_of("${page}" "${work}/lab_source")
build(lab "${CMAKE_CURRENT_LIST_DIR}/../../../tests/consumer/examples" examples
  "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DEXAMPLES=${work}/lab_source")
execute_process(COMMAND "${work}/lab/decisions" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "([^\n]+\n)" "    \\1" output "${output}")
file(READ "${page}" guide)
string(FIND "${guide}" "\n\n${output}\n" found)
if(found EQUAL -1)
  message(FATAL_ERROR "${page} does not show what decisions.cpp prints:\n${output}")
endif()
