# What find_package(assay COMPONENTS trial) includes where the rig is installed: assay::rig, a main() that checks maps.
include("${CMAKE_CURRENT_LIST_DIR}/rig/assay-rig-targets.cmake")
target_sources(assay::rig INTERFACE "${CMAKE_CURRENT_LIST_DIR}/rig/judge_path.cpp")
target_compile_definitions(assay::rig INTERFACE "ASSAY_JUDGE=\"${assay_programs}/assay-linearizability\"")
