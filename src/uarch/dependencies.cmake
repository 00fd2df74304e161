target_link_libraries(zs_uarch PUBLIC Zydis::Zydis)  # timing/shape.cc alone
