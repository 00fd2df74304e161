# Warnings, sanitizers and fuzzing: one interface target that every target of ours links.
option(ZEROSKID_WERROR "Warnings are errors" ON)
option(ZEROSKID_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
set(ZEROSKID_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

add_library(zeroskid_options INTERFACE)
target_include_directories(zeroskid_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(zeroskid_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
if(ZEROSKID_WERROR)
  target_compile_options(zeroskid_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(ZEROSKID_SANITIZE)
  target_compile_options(zeroskid_options INTERFACE -fsanitize=${ZEROSKID_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(zeroskid_options INTERFACE -fsanitize=${ZEROSKID_SANITIZE})
endif()
# Reproducible: no build paths in the binaries.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
