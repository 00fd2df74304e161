target_link_libraries(zs_engine PUBLIC Zydis::Zydis)
