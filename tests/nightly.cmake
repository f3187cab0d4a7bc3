# Read by ctest behind the lists of discovered tests: those named "nightly: …" carry the label nightly and take longer.
foreach(test IN LISTS attention_tests_TESTS)
  if(test MATCHES "^attention: *nightly: ")
    set_tests_properties("${test}" PROPERTIES LABELS nightly TIMEOUT 3600)
  endif()
endforeach()
