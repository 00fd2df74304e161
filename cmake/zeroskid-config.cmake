# What find_package(zeroskid) gives: a gate on performance among the tests of a project (docs/how-to/ci-recipes.md).
#
# zeroskid_check(TARGET BUDGET EVENT=PERCENT[,...] [BASELINE FILE] [REGIONS WHERE...] [LAYOUTS N] [OPTIONS WORD...]
#                [ARGUMENTS WORD...])
# adds the test check.TARGET, which counts the program and compares it with FILE (TARGET.baseline.json), and the target
# TARGET-baseline, which updates FILE. OPTIONS are of `zeroskid check`, ARGUMENTS the program's.
find_program(ZEROSKID zeroskid HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin)
if(NOT ZEROSKID)
  set(zeroskid_FOUND FALSE)
  set(zeroskid_NOT_FOUND_MESSAGE "no program zeroskid: set ZEROSKID to its path")
endif()

function(zeroskid_check target)
  cmake_parse_arguments(PARSE_ARGV 1 CHECK "" "BUDGET;BASELINE;LAYOUTS" "REGIONS;OPTIONS;ARGUMENTS")
  if(NOT CHECK_BUDGET OR CHECK_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "zeroskid_check(${target}): needs BUDGET EVENT=PERCENT; not understood: ${CHECK_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT CHECK_BASELINE)
    set(CHECK_BASELINE ${target}.baseline.json)
  endif()
  get_filename_component(baseline ${CHECK_BASELINE} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  set(words --baseline ${baseline} --budget ${CHECK_BUDGET})
  if(CHECK_LAYOUTS)
    list(APPEND words --layouts ${CHECK_LAYOUTS})
  endif()
  foreach(region ${CHECK_REGIONS})
    list(APPEND words --region ${region})
  endforeach()
  list(APPEND words ${CHECK_OPTIONS} -- ./$<TARGET_FILE_NAME:${target}> ${CHECK_ARGUMENTS})
  add_test(NAME check.${target} COMMAND ${ZEROSKID} check ${words} WORKING_DIRECTORY $<TARGET_FILE_DIR:${target}>)
  add_custom_target(${target}-baseline COMMAND ${ZEROSKID} check --update ${words} DEPENDS ${target}
                    WORKING_DIRECTORY $<TARGET_FILE_DIR:${target}> VERBATIM USES_TERMINAL)
endfunction()
