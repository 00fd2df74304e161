# Warnings, sanitizers and fuzzing: one interface target that every target of ours links.
option(ZEROSKID_WERROR "Warnings are errors: in our presets, not for those who build with another compiler" OFF)
set(ZEROSKID_TESTS AUTO CACHE STRING "Tests and benchmarks: ON, OFF, or AUTO: where the libraries they need are installed")
option(ZEROSKID_FUZZ "Link the fuzz targets with libFuzzer (needs clang)" OFF)
set(ZEROSKID_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

add_library(zeroskid_options INTERFACE)
target_include_directories(zeroskid_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(zeroskid_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>  # {.name = value} leaves the rest at its default, by design
  $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # g++ 12 sees overlaps in std::string operator+ that cannot be
if(ZEROSKID_WERROR)
  target_compile_options(zeroskid_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(ZEROSKID_SANITIZE)
  target_compile_options(zeroskid_options INTERFACE -fsanitize=${ZEROSKID_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(zeroskid_options INTERFACE -fsanitize=${ZEROSKID_SANITIZE})
endif()

# Headers that tests alone include: doubles, slow models, prepared input. tools/layering refuses them elsewhere.
add_library(zeroskid_test_support INTERFACE)
target_include_directories(zeroskid_test_support INTERFACE ${CMAKE_SOURCE_DIR}/tests/support)

# Under a sanitizer the layers are optimised, or tests of many steps would not end; the tests themselves need not be, and
# compile in two fifths of the time (recorder_test.cc: 10.7 s, not 27). Elsewhere -O1 is enough for them: -O0 leaves
# slow what headers hold.
function(leave_tests_unoptimised TESTS)
  if(ZEROSKID_SANITIZE)
    target_compile_options(${TESTS} PRIVATE -O0)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${TESTS} PRIVATE -O1)
  endif()
endfunction()

# What prints pages, and what asks the machine, runs for milliseconds and is a third of the build. -O1 compiles it in three
# quarters of the time.
function(optimise_lightly LAYER)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(zs_${LAYER} PRIVATE -O1)
  endif()
endfunction()

if(ZEROSKID_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "ZEROSKID_FUZZ needs clang, whose libFuzzer it links; this is ${CMAKE_CXX_COMPILER_ID}. "
                        "Use the fuzz preset: cmake --preset fuzz.")
  endif()
endif()

# Fuzz targets find their way by what is covered of themselves and of the layers. What unit tests cover nobody asks.
function(report_coverage TARGET)
  if(ZEROSKID_FUZZ)
    target_compile_options(${TARGET} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Fuzz targets of LAYER find their way by edges alone. A unit that compares small numbers at every step gains nothing from
# being told each of them, and a third of the time goes there.
function(leave_comparisons_untraced LAYER)
  if(ZEROSKID_FUZZ)
    target_compile_options(zs_${LAYER} PRIVATE -fno-sanitize-coverage=trace-cmp)
  endif()
endfunction()
# Reproducible: no build paths in the binaries.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # tools/tidy reads it

# ccache where it is installed and nobody chose otherwise.
find_program(CCACHE ccache)
if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
