target_link_libraries(zs_arch PRIVATE zs_fmt)  # only the text of records; zeroskid-run does not load it
# An object of its own: tests/hosts links another in its place.
compile_alone(${CMAKE_SOURCE_DIR}/src/arch/this_processor.cc)
compile_alone(${CMAKE_SOURCE_DIR}/src/arch/events/intel.cc)  # a table, of the same columns as that of AMD's events
