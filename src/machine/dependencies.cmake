target_link_libraries(zs_machine PUBLIC Zydis::Zydis fmt::fmt ZLIB::ZLIB)
