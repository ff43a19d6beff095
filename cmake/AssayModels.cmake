# Models of the protocols, by relacy, of the headers as they are; and with mistakes planted in them, which relacy must
# find: so it is known which lines of the headers a model checks. Relacy runs threads as fibres of its own, which sanitizers
# do not follow.
#
# A mistake is a name, a header, and a text that stands in the header once, in which [[right => wrong]] says what is to be
# wrong: an expression, a memory order, or statements. One that holds the text of another is written before it. Where the header is
# MODEL, the model's own source plants it (assay::planted). All mistakes of a model are in one program, which begins
# with the name of the one to plant, and without a name is the model of the headers as they are.
include_guard()
include(AssayPlanted)

# assay_model(source fences [name header text]...): of one kind of fences that the product has (base/model_atomics.h).
function(assay_model source fences)
  cmake_path(GET source STEM name)
  set(target ${name}_${fences})
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE assay::assay assay_test_support)
  # Relacy replaces only the plain ones of operator delete, and sees in what a destructor leaves that it has run.
  target_compile_options(${target} PRIVATE -O1 -fno-sized-deallocation -fno-lifetime-dse)
  target_compile_definitions(${target} PRIVATE ASSAY_PROBES=0
    ASSAY_MODEL_MEMBARRIER=$<STREQUAL:${fences},membarrier>
    [[ASSAY_ATOMICS_HEADER="tests/base/model_atomics.h"]])
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES TIMEOUT 600)
  set(index 2)  # one argument after the other: ARGN would split those with a semicolon
  while(index LESS ARGC)
    foreach(part mistake header text)
      set(${part} "${ARGV${index}}")
      math(EXPR index "${index} + 1")
    endforeach()
    assay_mistake(${target} ${target}_finds_${mistake} ${mistake} "${header}" "${text}")
  endwhile()
endfunction()

# assay_mistake(target test name header text): plants it in the program, and tests that the program finds it.
function(assay_mistake target test name header text)
  add_test(NAME ${test} COMMAND ${target} ${name})
  set_tests_properties(${test} PROPERTIES TIMEOUT 600)
  if(header STREQUAL "MODEL")
    return()
  endif()
  if(NOT text MATCHES "^(.*)\\[\\[(.*) => (.*)\\]\\](.*)$")
    message(FATAL_ERROR "${name} has no [[right => wrong]]: ${text}")
  endif()
  set(before "${CMAKE_MATCH_1}")
  set(right "${CMAKE_MATCH_2}")
  set(wrong "${CMAKE_MATCH_3}")
  set(after "${CMAKE_MATCH_4}")
  if(right MATCHES "^memory_order_([a-z_]+)$")
    set(right_order ${CMAKE_MATCH_1})
    string(REPLACE memory_order_ "" wrong_order "${wrong}")
    set(either "(::assay::planted(\"${name}\") ? rl::mo_${wrong_order} : rl::mo_${right_order}), $")
  elseif(right MATCHES ";$")
    set(either "if (::assay::planted(\"${name}\")) { ${wrong} } else { ${right} }")
  else()
    set(either "(::assay::planted(\"${name}\") ? (${wrong}) : (${right}))")
  endif()

  set(original "${PROJECT_SOURCE_DIR}/concurrent/include/${header}")
  file(READ "${original}" text)
  set(checked "${text}")
  assay_replace_once(checked ${name} "${before}${right}${after}" "")

  # The header with the mistakes so far, in a property of the target that is written when all are known.
  string(MAKE_C_IDENTIFIER "ASSAY_PLANTED_${header}" property)
  get_target_property(planted ${target} ${property})
  if(planted)
    set(text "${planted}")
  else()
    string(PREPEND text "#include \"tests/base/model_mistake.h\"\n")
    # A folder for each, so that none is left over from mistakes that are no longer planted.
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/planted/${target}/${property}")
    file(GENERATE OUTPUT "${folder}/${header}" CONTENT "$<TARGET_PROPERTY:${target},${property}>")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${original}")
    target_include_directories(${target} BEFORE PRIVATE "${folder}")
  endif()
  string(REPLACE "${before}${right}${after}" "${before}${either}${after}" text "${text}")
  set_property(TARGET ${target} PROPERTY ${property} "${text}")
endfunction()
