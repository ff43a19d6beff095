# Builds OUTPUT, the judge of histories, from SOURCE. Its one module comes from Go's module proxy, is checked against
# go.sum, and stays in Go's own cache. Any Go from 1.19 on will do, and need not fetch another.
find_program(GO go)
if(NOT GO)
  message(FATAL_ERROR "Assay needs Go, for the judge of histories (Debian's package golang-go).")
endif()
set(ENV{GOTOOLCHAIN} local)
execute_process(
  COMMAND "${GO}" build -mod=readonly -buildvcs=false -trimpath -o "${OUTPUT}" .
  WORKING_DIRECTORY "${SOURCE}" RESULT_VARIABLE failed ERROR_VARIABLE said)
if(failed AND said MATCHES "porcupine@")
  execute_process(COMMAND "${GO}" env GOPROXY OUTPUT_VARIABLE proxy OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(APPEND said "Assay needs the Go module porcupine, which Go's module proxy (GOPROXY=${proxy}) did not deliver. "
    "Set GOPROXY to one that can be reached.")
endif()
if(failed)
  message(FATAL_ERROR "${said}")
endif()
