target_link_libraries(zs_machine PUBLIC zs_fmt ${ARCHIVE_z})
file(GLOB devices CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/machine/devices/*.cc)
compile_alone(${devices})  # each has ports and registers of its own, all named alike
