# Runs before there is a thread pointer.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/start_up.cc PROPERTIES
                            COMPILE_OPTIONS "-fno-stack-protector;-fno-sanitize=all")
# An object of its own: tests/hosts links another in its place.
compile_alone(${CMAKE_SOURCE_DIR}/src/base/auxiliary_vector.cc)
