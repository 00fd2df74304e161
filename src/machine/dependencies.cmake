target_link_libraries(zs_machine PUBLIC fmt::fmt ZLIB::ZLIB)
