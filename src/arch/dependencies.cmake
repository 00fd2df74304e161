target_link_libraries(zs_arch PRIVATE fmt::fmt)  # only the text of records; zeroskid-run does not load it
