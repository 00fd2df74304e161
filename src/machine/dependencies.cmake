target_link_libraries(zs_machine PUBLIC zs_fmt ${ARCHIVE_z})
