# assay_layout(target): records how a program is linked, in TARGET.link.tar beside it, so that `assay` can link it anew with
# its functions and data in another order (docs/guide/layout.md). lld writes the record: all that goes into the program, and
# how. Without lld, with link-time optimisation, sanitizers or another linker that was chosen, the program is linked as ever, and
# there is no record.
foreach(version RANGE 40 13 -1) # as in python/assay/layout/link.py
  list(APPEND ASSAY_LLD_NAMES ld.lld-${version})
endforeach()
find_program(ASSAY_LLD NAMES ld.lld ${ASSAY_LLD_NAMES})
unset(ASSAY_LLD_NAMES)

function(assay_layout target)
  get_target_property(together ${target} INTERPROCEDURAL_OPTIMIZATION)
  if(NOT ASSAY_LLD OR together OR "${CMAKE_CXX_FLAGS} ${CMAKE_EXE_LINKER_FLAGS}" MATCHES "-flto|-fsanitize=|-fuse-ld=")
    return()
  endif()
  # Compilers know lld by the name ld.lld, which Debian gives it in a folder for each version.
  file(REAL_PATH "${ASSAY_LLD}" lld)
  get_filename_component(folder "${lld}" DIRECTORY)
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  target_link_options(${target} PRIVATE "-B${folder}" -fuse-ld=lld
    "LINKER:--build-id=sha1,--reproduce=$<TARGET_FILE_DIR:${target}>/$<TARGET_FILE_NAME:${target}>.link.tar")
endfunction()
