# `cmake --install`: the programs, the public headers and a CMake package.
#
#   find_package(assay)                              assay::assay, headers with nothing to link
#                                                    assay::random, engines and streams of numbers
#                                                    assay::workload, which draws operations
#                                                    assay::probe, for probes in measured code
#   find_package(assay REQUIRED COMPONENTS trial fixture)
#                                                    assay::trial as well, a main() that runs trials,
#                                                    assay_subject(), which makes a program of one source,
#                                                    assay::fixture, a main() that times fixtures, and assay_fixture()
#
# These need a compiler and nothing else, but for assay::trial and assay::fixture, whose libraries AssayDependencies.cmake finds. A
# satellite with libraries of its own installs them, and a file satellites/NAME.cmake, which find_package includes.
# A project that takes Assay in by add_subdirectory has the same, and installs nothing of Assay.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/assay")

install(DIRECTORY native/assay/random native/assay/workload native/assay/probe native/assay/subject
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/assay"
  FILES_MATCHING PATTERN "*.h" PATTERN "*_test_*" EXCLUDE PATTERN "*model*" EXCLUDE)
install(FILES native/assay/host/clock.h native/assay/host/compiled_as.h
    native/assay/host/time_stamp_counter.h
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/assay/host")
install(FILES native/assay/fixture/fixture.h native/assay/fixture/inputs.h native/assay/fixture/inspected.h native/assay/fixture/keep.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/assay/fixture")
install(TARGETS assay assay_random assay_workload assay_probe EXPORT assay-targets)
install(TARGETS assay_input assay_host assay_measure assay_fixture_loop assay_fixture assay_benchmark assay_subject assay_trial_loop assay_trial_program assay_trial
  EXPORT assay-trial-targets)
install(TARGETS assay-trial assay-pitfalls assay-calibrate assay-clocks assay-meter)
install(TARGETS assay_lock_memory LIBRARY DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES "$<TARGET_FILE:assay-trial>.link.tar" "$<TARGET_FILE:assay-pitfalls>.link.tar" TYPE BIN OPTIONAL)  # where lld recorded it
# What a Python wheel holds, in the package `assay` (pyproject.toml).
install(TARGETS assay-trial assay-pitfalls assay-calibrate assay-clocks assay-meter DESTINATION assay/bin COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS assay_lock_memory LIBRARY DESTINATION assay/bin COMPONENT wheel EXCLUDE_FROM_ALL)
install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/licences\" \"\${CMAKE_INSTALL_PREFIX}/assay/licences\" COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT wheel EXCLUDE_FROM_ALL)

# The sources of these libraries, which projects with sanitizers compile anew.
set(source_dir "${CMAKE_INSTALL_DATADIR}/assay")
install(FILES CMakeLists.txt DESTINATION "${source_dir}")
install(DIRECTORY cmake DESTINATION "${source_dir}")
install(FILES native/CMakeLists.txt DESTINATION "${source_dir}/native")
install(DIRECTORY concurrent DESTINATION "${source_dir}" PATTERN tests EXCLUDE)
install(DIRECTORY native/assay DESTINATION "${source_dir}/native"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "CMakeLists.txt"
  PATTERN "*_test*" EXCLUDE PATTERN "*_model*" EXCLUDE PATTERN "*_mistakes*" EXCLUDE)

install(EXPORT assay-targets NAMESPACE assay:: DESTINATION "${package_dir}")
install(EXPORT assay-trial-targets NAMESPACE assay:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/assay-config.cmake.in "${PROJECT_BINARY_DIR}/assay-config.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_BINDIR source_dir)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/assay-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/assay-config.cmake" "${PROJECT_BINARY_DIR}/assay-config-version.cmake"
  cmake/AssayDependencies.cmake cmake/AssayFixture.cmake cmake/AssayLayout.cmake cmake/AssaySubject.cmake
  DESTINATION "${package_dir}")

if(ASSAY_TESTS AND CMAKE_BUILD_TYPE STREQUAL "Release")
  add_test(NAME consumer COMMAND "${CMAKE_COMMAND}"
    "-DBUILD=${PROJECT_BINARY_DIR}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DGENERATOR=${CMAKE_GENERATOR}"
    "-DLLD=${ASSAY_LLD}"
    -P "${PROJECT_SOURCE_DIR}/tests/consumer/test.cmake")
  string(REPLACE ";" "\\;" launcher "${CMAKE_CXX_COMPILER_LAUNCHER}")
  set_tests_properties(consumer PROPERTIES TIMEOUT 1200 COST 100  # the longest begin first
    ENVIRONMENT "CMAKE_CXX_COMPILER_LAUNCHER=${launcher}")
endif()
