target_link_libraries(zs_profile PUBLIC zs_fmt ${libdw_archives} ${ARCHIVE_zstd} ${ARCHIVE_lzma} ${ARCHIVE_z}
                                        ${ARCHIVE_iberty} ${CMAKE_DL_LIBS})
compile_alone(${CMAKE_SOURCE_DIR}/src/profile/symbols/demangle.cc)  # its header declares a basename() of its own
