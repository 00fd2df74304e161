target_link_libraries(zs_report PUBLIC fmt::fmt Zydis::Zydis)
