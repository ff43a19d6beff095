# Run by assay_build_info_header with -D: SOURCE_DIR, TEMPLATE, OUTPUT, COMPILER, FLAGS, BUILD_TYPE.

set(COMMIT unknown)
find_program(git git)
if(git AND EXISTS "${SOURCE_DIR}/.git")  # installed sources have none
  execute_process(
    COMMAND "${git}" describe --always --dirty --abbrev=40 --exclude=*
    WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE failed OUTPUT_VARIABLE described
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(COMMIT "${described}")
  endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
