# Shows that probes which are compiled out leave nothing. Run by ctest with -D: IN, OUT and ABSENT, the objects of
# probe_test_measured.cpp, and NM and OBJCOPY.

function(look object symbols_in text)
  execute_process(COMMAND "${NM}" "${object}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  set(${symbols_in} "${symbols}" PARENT_SCOPE)
  execute_process(COMMAND "${OBJCOPY}" -O binary -j .text "${object}" "${CMAKE_CURRENT_BINARY_DIR}/${text}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
look("${IN}" in measured_in)
look("${OUT}" out measured_out)
look("${ABSENT}" absent measured_absent)

# That which is looked for is found where it must be.
if(NOT in MATCHES "probe")
  message(FATAL_ERROR "with probes, there is no trace of them:\n${in}")
endif()
if(NOT out STREQUAL absent)
  message(FATAL_ERROR "probes that are compiled out leave symbols:\n${out}\nwithout them:\n${absent}")
endif()
file(STRINGS "${OUT}" texts REGEX "searches|measured_first")
if(texts)
  message(FATAL_ERROR "probes that are compiled out leave text: ${texts}")
endif()
file(SHA256 "${CMAKE_CURRENT_BINARY_DIR}/measured_in" code_in)
file(SHA256 "${CMAKE_CURRENT_BINARY_DIR}/measured_out" code_out)
file(SHA256 "${CMAKE_CURRENT_BINARY_DIR}/measured_absent" code_absent)
if(code_in STREQUAL code_absent)
  message(FATAL_ERROR "with probes, the machine code is the same as without")
endif()
if(NOT code_out STREQUAL code_absent)
  message(FATAL_ERROR "probes that are compiled out change the machine code of ${OUT}")
endif()
