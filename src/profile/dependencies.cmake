target_link_libraries(zs_profile PUBLIC fmt::fmt PkgConfig::libdw PkgConfig::libzstd PkgConfig::liblzma ZLIB::ZLIB ${LIBIBERTY})
