# Runs with the program's vector registers and thread pointer in place (near_stop.h): nothing may be called, nor found by FS,
# as a sanitizer would.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/engine/translate/near_stop.cc PROPERTIES
                            COMPILE_OPTIONS "-mgeneral-regs-only;-fno-stack-protector;-fno-sanitize=all")
