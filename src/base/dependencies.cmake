# Runs before there is a thread pointer.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/start_up.cc PROPERTIES
                            COMPILE_OPTIONS "-fno-stack-protector;-fno-sanitize=all")
