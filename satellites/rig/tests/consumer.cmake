# A part of tests/consumer/test.cmake: the same projects have programs that check their maps, by the judge too, wherever it is.
foreach(project subject subdirectory)
  run("${CMAKE_COMMAND}" --build "${work}/${project}" --target subject-rig)
  run("${work}/${project}/subject-rig" model my_map --operations 1000)
  run("${work}/${project}/subject-rig" linearizability my_map --histories 50)
endforeach()
run("${work}/prefix/bin/assay-rig" linearizability std_map_mutex --histories 50)
