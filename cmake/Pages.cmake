# Man pages and shell completions, which zeroskid-pages makes from the options that the verbs declare.
set(zeroskid_pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(
  OUTPUT ${zeroskid_pages}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${zeroskid_pages}
  COMMAND zeroskid-pages ${zeroskid_pages}
  COMMAND sh -c "gzip -9nk ${zeroskid_pages}/man/*.1"
  COMMAND ${CMAKE_COMMAND} -E touch ${zeroskid_pages}/stamp
  DEPENDS zeroskid-pages VERBATIM)
add_custom_target(pages ALL DEPENDS ${zeroskid_pages}/stamp)
add_dependencies(zeroskid pages)  # who builds zeroskid can install it
