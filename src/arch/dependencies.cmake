target_link_libraries(zs_arch PRIVATE zs_fmt)  # only the text of records; zeroskid-run does not load it
