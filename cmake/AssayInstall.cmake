# `cmake --install`: the programs, the public headers and a CMake package.
#
#   find_package(assay)                              assay::assay, headers that depend on nothing, and
#                                                    assay::workload, which draws operations, and
#                                                    assay::probe, for probes in measured code, and
#                                                    assay::reclaim, when to free what was unlinked
#   find_package(assay REQUIRED COMPONENTS trial)    assay::trial as well, a main() that runs trials
#
# A project that takes Assay in by add_subdirectory has the same two targets, and installs nothing of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/assay")

install(DIRECTORY native/assay/random native/assay/workload native/assay/probe native/assay/reclaim native/assay/sync
    native/assay/maps
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/assay"
  FILES_MATCHING PATTERN "*.h" PATTERN "*_test_*" EXCLUDE PATTERN "*model*" EXCLUDE)
install(FILES native/assay/trial/subject.h native/assay/trial/measured_map.h
    native/assay/trial/measured_bag.h native/assay/trial/tally.h native/assay/trial/datum.h
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/assay/trial")
install(FILES native/assay/host/compiled_as.h native/assay/host/instruction_set.h
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/assay/host")
install(TARGETS assay assay_random assay_workload assay_probe assay_reclaim EXPORT assay-targets)
install(TARGETS assay_host assay_trial_loop assay_trial EXPORT assay-trial-targets)
install(TARGETS assay-trial assay-calibrate assay-engines assay-meter)

install(EXPORT assay-targets NAMESPACE assay:: DESTINATION "${package_dir}")
install(EXPORT assay-trial-targets NAMESPACE assay:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/assay-config.cmake.in "${PROJECT_BINARY_DIR}/assay-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/assay-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/assay-config.cmake" "${PROJECT_BINARY_DIR}/assay-config-version.cmake"
  cmake/AssayDependencies.cmake
  DESTINATION "${package_dir}")

if(ASSAY_TESTS AND CMAKE_BUILD_TYPE STREQUAL "Release")
  add_test(NAME consumer COMMAND "${CMAKE_COMMAND}"
    "-DBUILD=${PROJECT_BINARY_DIR}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DGENERATOR=${CMAKE_GENERATOR}"
    -P "${PROJECT_SOURCE_DIR}/tests/consumer/test.cmake")
  set_tests_properties(consumer PROPERTIES TIMEOUT 300 COST 100)  # the longest begin first
endif()
