target_link_libraries(zs_report PUBLIC zs_fmt nlohmann_json::nlohmann_json)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/report/plot/plot_asset.S PROPERTIES
  OBJECT_DEPENDS "${CMAKE_SOURCE_DIR}/src/report/plot_page/made/page.js;${CMAKE_SOURCE_DIR}/src/report/plot_page/made/page.css"
  COMPILE_OPTIONS "-Wa,-I${CMAKE_SOURCE_DIR}/src")
optimise_lightly(report)
