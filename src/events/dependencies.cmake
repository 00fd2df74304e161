if(ZEROSKID_FUZZ)
  # A table of distances teaches a fuzzer nothing and, instrumented, costs a hundred times what the parser does.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/events/nearest_names.cc PROPERTIES
                              COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link,address,undefined)
endif()
