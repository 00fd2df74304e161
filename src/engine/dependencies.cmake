target_link_libraries(zs_engine PUBLIC Zydis::Zydis)
# Runs with the program's vector registers in place (near_stop.h).
set_source_files_properties(src/engine/near_stop.cc PROPERTIES COMPILE_OPTIONS "-mgeneral-regs-only;-fno-stack-protector")
