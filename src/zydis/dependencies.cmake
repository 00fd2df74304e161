# Zydis' headers. Its functions are those of functions.cc; tests that call others of them link the library itself
# besides.
get_target_property(zydis_headers Zydis::Zydis INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(zs_zydis SYSTEM PUBLIC ${zydis_headers})
get_target_property(zydis_library Zydis::Zydis LOCATION)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/zydis/zydis_bytes.S PROPERTIES
  OBJECT_DEPENDS ${zydis_library} COMPILE_DEFINITIONS "ZEROSKID_ZYDIS=\"${zydis_library}\"")
