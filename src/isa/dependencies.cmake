target_link_libraries(zs_isa PUBLIC Zydis::Zydis)
