target_link_libraries(zs_cli PUBLIC zs_fmt CLI11::CLI11 nlohmann_json::nlohmann_json ${ARCHIVE_pfm})
target_include_directories(zs_cli PUBLIC ${PFM_INCLUDE_DIR})
target_compile_definitions(zs_cli PUBLIC ZEROSKID_VERSION="${PROJECT_VERSION}")
target_link_libraries(zs_cli PUBLIC zs_guests)
optimise_lightly(cli)
set(commands ${CMAKE_SOURCE_DIR}/src/cli/command)
set(pages ${CMAKE_SOURCE_DIR}/src/cli/pages)
set_source_files_properties(${commands}/perf_options_text.S ${pages}/completion_scripts.S PROPERTIES
  OBJECT_DEPENDS "${commands}/perf_options.txt;${pages}/completion.bash;${pages}/completion.fish;${pages}/completion.zsh"
  COMPILE_OPTIONS "-Wa,-I${CMAKE_SOURCE_DIR}/src")
