target_link_libraries(zs_cli PUBLIC zs_fmt CLI11::CLI11 nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
target_include_directories(zs_cli PUBLIC ${PFM_INCLUDE_DIR})
target_compile_definitions(zs_cli PUBLIC ZEROSKID_VERSION="${PROJECT_VERSION}")
target_link_libraries(zs_cli PUBLIC zs_guests)
