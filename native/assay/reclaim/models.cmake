# Models of the protocols, by relacy, of the headers as they are; and with mistakes planted in them, which relacy must
# find, so that it is known which lines of the headers a model has an eye on. Relacy runs threads as fibres of its own, which
# sanitizers do not follow.
set(native "${PROJECT_SOURCE_DIR}/native")

# With fences of both kinds that the product has (sync/model_atomics.h).
function(model source)
  cmake_path(GET source STEM name)
  foreach(fences membarrier seq_cst)
    _model("${source}" ${name}_${fences} ${fences})
  endforeach()
endfunction()

# The model of one kind of fences, in which `header` has `wrong` where it should have `right`, which stands there once.
function(mistake source fences name header right wrong)
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
  cmake_path(GET source STEM model)
  set(target ${model}_${fences}_finds_${name})
  set(planted "${CMAKE_CURRENT_BINARY_DIR}/planted/${target}")
  file(GENERATE OUTPUT "${planted}/${header}" CONTENT "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${native}/${header}")
  _model("${source}" ${target} ${fences})
  target_include_directories(${target} BEFORE PRIVATE "${planted}")
  target_compile_definitions(${target} PRIVATE "ASSAY_MISTAKE=\"${name}\"")
endfunction()

function(_model source name fences)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE assay::assay)
  # Relacy replaces only the plain ones of operator delete.
  target_compile_options(${name} PRIVATE -O1 -fno-sized-deallocation)
  target_compile_definitions(${name} PRIVATE ASSAY_PROBES=0
    ASSAY_MODEL_MEMBARRIER=$<STREQUAL:${fences},membarrier>
    [[ASSAY_ATOMICS_HEADER="assay/sync/model_atomics.h"]])
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120)
endfunction()

set(epochs assay/reclaim/epochs.h)
set(hazard_pointers assay/reclaim/hazard_pointers.h)
set(records assay/reclaim/records.h)
set(version_locks assay/sync/version_locks.h)

model(epochs_model.cpp)
mistake(epochs_model.cpp seq_cst no_light_fence ${epochs} "sync::light_fence();" "")
mistake(epochs_model.cpp membarrier no_heavy_fence ${epochs} "sync::heavy_fence();" "")
mistake(epochs_model.cpp membarrier two_bags ${epochs} "bags = 3;" "bags = 2;")
mistake(epochs_model.cpp membarrier relaxed_claim ${records}
  "exchange(true, memory_order_acquire)" "exchange(true, memory_order_relaxed)")
mistake(epochs_model.cpp membarrier relaxed_release_of_record ${records}
  "store(false, memory_order_release)" "store(false, memory_order_relaxed)")
mistake(epochs_model.cpp membarrier relaxed_publication_of_records ${records}
  "added.get(), memory_order_release," "added.get(), memory_order_relaxed,")

model(hazard_pointers_model.cpp)
mistake(hazard_pointers_model.cpp seq_cst no_light_fence ${hazard_pointers} "sync::light_fence();" "")
mistake(hazard_pointers_model.cpp seq_cst no_heavy_fence ${hazard_pointers} "sync::heavy_fence();" "")
mistake(hazard_pointers_model.cpp membarrier no_heavy_fence ${hazard_pointers} "sync::heavy_fence();" "")
mistake(hazard_pointers_model.cpp membarrier relaxed_announcement ${hazard_pointers}
  "store(node, memory_order_release)" "store(node, memory_order_relaxed)")
mistake(hazard_pointers_model.cpp membarrier relaxed_end_of_guard ${hazard_pointers}
  "store(nullptr, memory_order_release)" "store(nullptr, memory_order_relaxed)")
mistake(hazard_pointers_model.cpp membarrier relaxed_look_at_slots ${hazard_pointers}
  "hazard.load(memory_order_acquire)" "hazard.load(memory_order_relaxed)")
mistake(hazard_pointers_model.cpp membarrier no_second_look ${hazard_pointers}
  "word = source.load(memory_order_acquire);\n      if" "if")
mistake(hazard_pointers_model.cpp membarrier relaxed_claim ${records}
  "exchange(true, memory_order_acquire)" "exchange(true, memory_order_relaxed)")

set(version_locks_model ../sync/version_locks_model.cpp)
_model(${version_locks_model} version_locks_model seq_cst)  # it has no fences
mistake(${version_locks_model} seq_cst relaxed_look ${version_locks}
  "state_.load(memory_order_acquire);" "state_.load(memory_order_relaxed);")
mistake(${version_locks_model} seq_cst relaxed_lock ${version_locks}
  "seen + step(side), memory_order_acquire," "seen + step(side), memory_order_relaxed,")
mistake(${version_locks_model} seq_cst relaxed_lock_for_good ${version_locks}
  "for_good, memory_order_acquire," "for_good, memory_order_relaxed,")
mistake(${version_locks_model} seq_cst relaxed_unlock ${version_locks}
  "shift(side), memory_order_release" "shift(side), memory_order_relaxed")
mistake(${version_locks_model} seq_cst relaxed_unlock_unchanged ${version_locks}
  "step(side), memory_order_release" "step(side), memory_order_relaxed")
mistake(${version_locks_model} seq_cst old_version_after_change ${version_locks} "taken + 1U" "taken - 1U")
mistake(${version_locks_model} seq_cst carry_into_the_other_version ${version_locks}
  "state{taken + 1U} - state{taken}" "state{1}")
