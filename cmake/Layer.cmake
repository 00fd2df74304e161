# A folder below src/ is a layer, a layer is one static library, and a file takes part by its name alone:
#   *.cc *.S      the library          *_test.cc   the layer's unit tests (one GoogleTest program, labelled NAME)
#   *_bench.cc    benchmarks           *_fuzz.cc   fuzz targets: libFuzzer in the fuzz preset, replay elsewhere
#   *_main.cc     the entry of a program; programs() below names them
# Headers for tests alone are in tests/support, under the same paths as below src/.
# src/NAME/dependencies.cmake, where it exists, links outside libraries.
function(layer NAME)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.cc ${CMAKE_SOURCE_DIR}/src/${NAME}/*.S)
  set(library ${all})
  list(FILTER library EXCLUDE REGEX "_(test|bench|fuzz|main)\\.cc$")
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(benches ${all})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  set(fuzzers ${all})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")

  # A layer whose sources are still to come is a library all the same, so that naming it works everywhere.
  add_library(zs_${NAME} STATIC ${CMAKE_SOURCE_DIR}/cmake/empty.cc)
  target_link_libraries(zs_${NAME} PUBLIC zeroskid_options)
  report_coverage(zs_${NAME})
  foreach(below ${ARGN})
    target_link_libraries(zs_${NAME} PUBLIC zs_${below})
  endforeach()
  set(scope PUBLIC)
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/${NAME}/dependencies.cmake)
    include(${CMAKE_SOURCE_DIR}/src/${NAME}/dependencies.cmake)
  endif()
  compile_together(library zs_${NAME})
  target_sources(zs_${NAME} PRIVATE ${library})

  if(tests AND with_tests)
    unit_tests(${NAME}_tests ${tests})
    target_link_libraries(${NAME}_tests PRIVATE zs_${NAME})
    add_test(NAME ${NAME} COMMAND ${NAME}_tests)
    set_tests_properties(${NAME} PROPERTIES LABELS ${NAME})
  endif()
  if(with_tests)
    foreach(source ${benches})
      benchmark_program(${source} zs_${NAME})
    endforeach()
  endif()
  if(with_tests OR ZEROSKID_FUZZ)
    foreach(source ${fuzzers})
      fuzz_target(${source} zs_${NAME})
    endforeach()
  endif()
endfunction()

# unit_tests(PROGRAM SOURCE...): a GoogleTest program.
function(unit_tests PROGRAM)
  set(sources ${ARGN})
  compile_together(sources ${PROGRAM})
  add_executable(${PROGRAM} ${sources})
  leave_tests_unoptimised(${PROGRAM})
  target_link_libraries(${PROGRAM} PRIVATE zeroskid_options zeroskid_test_support GTest::gmock GTest::gtest_main)
  target_link_libraries(${PROGRAM} PRIVATE Zydis::Zydis)  # functions of it that the programs do not call (src/zydis)
endfunction()

# A folder within a layer that includes of its layer's other rooms those named alone; tools/layering reads and holds it.
function(room)
endfunction()

# A folder of a layer that alone tells names apart which begin so; tools/layering holds that too.
function(tells_apart)
endfunction()

# benchmark_program(SOURCE LIBRARY...): every benchmark also runs once as a test, so that none rots.
function(benchmark_program SOURCE)
  get_filename_component(name ${SOURCE} NAME_WE)
  add_executable(${name} ${SOURCE})
  target_link_libraries(${name} PRIVATE ${ARGN} zeroskid_test_support benchmark::benchmark_main)
  add_test(NAME ${name} COMMAND ${name} --benchmark_min_time=0.001)
  label_by_layer(${name} ${SOURCE})
  set_property(GLOBAL APPEND PROPERTY zeroskid_benchmarks ${name})
endfunction()

# fuzz_target(SOURCE LIBRARY...): SOURCE defines LLVMFuzzerTestOneInput. The fuzz preset links it with libFuzzer; every
# other build links cmake/fuzz_replay.cc and runs the seeds of tests/corpus/NAME, each also a little damaged, as a test.
# NAME is the file's name without _fuzz.cc.
function(fuzz_target SOURCE)
  get_filename_component(target ${SOURCE} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${target})
  if(ZEROSKID_FUZZ)
    add_executable(${target} ${SOURCE})
    report_coverage(${target})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    if(NOT TARGET zs_fuzz_replay)
      add_library(zs_fuzz_replay STATIC ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cc)
      target_link_libraries(zs_fuzz_replay PRIVATE zeroskid_options)
    endif()
    add_executable(${target} ${SOURCE})
    target_link_libraries(${target} PRIVATE zs_fuzz_replay)
    add_test(NAME ${target} COMMAND ${target} ${CMAKE_SOURCE_DIR}/tests/corpus/${name})
    label_by_layer(${target} ${SOURCE})
  endif()
  target_link_libraries(${target} PRIVATE ${ARGN} zeroskid_test_support)
  set_property(GLOBAL APPEND PROPERTY zeroskid_fuzzers ${target})
endfunction()

# The folder below src/ is the label: ctest -L '^engine$' runs what a layer has.
function(label_by_layer TEST SOURCE)
  cmake_path(RELATIVE_PATH SOURCE BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
  string(REGEX REPLACE "/.*" "" label ${SOURCE})
  set_tests_properties(${TEST} PROPERTIES LABELS ${label})
endfunction()

# zeroskid is what people call; zeroskid-run is the small host that a profiled program lives in (and that an
# execve of that program starts anew, so it must load fast: no libdw, no argument parser).
#
# zeroskid-dynamic is zeroskid where a library has to be opened: libdw's, which asks debuginfod.
function(programs)
  program(zeroskid-run session/zeroskid_run_main.cc zs_session)
  program(zeroskid     cli/zeroskid_main.cc         zs_cli)
  program(zeroskid-dynamic cli/zeroskid_main.cc     zs_cli -static-libstdc++ -static-libgcc)
  program(zeroskid-pages cli/pages_main.cc          zs_cli)  # runs while building: man pages and completions
  add_dependencies(zeroskid zeroskid-dynamic)  # who builds zeroskid can install it
  if(NOT ZEROSKID_SANITIZE)  # whose start is their own
    target_link_options(zeroskid-run PRIVATE LINKER:-e,zs_start)
    link_static(zeroskid-run 0x501000000000)  # apart: zeroskid may be the program that runs in it
    link_static(zeroskid 0x508000000000)
    link_at_fixed_address(zeroskid-dynamic 0x508000000000)
  endif()
  name_commit(zeroskid)
  name_commit(zeroskid-dynamic)
endfunction()

# A dynamic loader is a tenth of what a short command takes, and the program runs whatever libraries a machine has. Calls of
# functions that are nowhere, which nothing makes, do not reach 0 from the fixed address: those of libstdc++ go with their
# callers (--gc-sections), and others reach what is there. Exceptions need --eh-frame-hdr, since the start files are not those of
# static programs.
function(link_static TARGET ADDRESS)
  link_at_fixed_address(${TARGET} ${ADDRESS})
  target_sources(${TARGET} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/static_program.cc)
  target_link_options(${TARGET} PRIVATE -static
                      LINKER:--eh-frame-hdr,--gc-sections,-u,__cxa_finalize,-u,__call_tls_dtors,-u,__pthread_unwind)
  foreach(name _dl_relocate_static_pie __pthread_initialize_minimal __mq_notify_fork_subprocess __timer_fork_subprocess
          __nss_database_fork_prepare_parent __nss_database_fork_subprocess ZSTD_trace_compress_begin ZSTD_trace_compress_end
          ZSTD_trace_decompress_begin ZSTD_trace_decompress_end)
    target_link_options(${TARGET} PRIVATE LINKER:--defsym=${name}=zs_nothing)
  endforeach()
  foreach(name dlopen dlsym dlclose dlerror)  # libdw's
    target_link_options(${TARGET} PRIVATE LINKER:--wrap=${name},--defsym=__wrap_${name}=zs_nothing)
  endforeach()
endfunction()

# TARGET knows which commit it was built from (cli/version.h). Asked at every build; compiled anew only when it changed.
function(name_commit TARGET)
  target_sources(${TARGET} PRIVATE ${CMAKE_BINARY_DIR}/commit.cc)
  if(TARGET commit)
    add_dependencies(${TARGET} commit)
    return()
  endif()
  add_custom_target(commit BYPRODUCTS ${CMAKE_BINARY_DIR}/commit.cc
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${CMAKE_BINARY_DIR}/commit.cc
            -P ${CMAKE_SOURCE_DIR}/cmake/Commit.cmake)
  add_dependencies(${TARGET} commit)
endfunction()

# Pointers in tables of constants are then right in the file, so that a process needs to write none of those pages when it starts.
# It is compiled position-independent all the same, and lies where the kernel puts programs (src/engine/memory/layout.h), away
# from the low addresses that doctor tries to reserve; so the start files of position-independent programs are needed.
function(link_at_fixed_address TARGET ADDRESS)
  foreach(name Scrt1.o crti.o crtbeginS.o crtendS.o crtn.o)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE ${name}
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  target_link_options(${TARGET} PRIVATE -no-pie -nostartfiles LINKER:-Ttext-segment=${ADDRESS},--no-relax
                      ${Scrt1.o} ${crti.o} ${crtbeginS.o})
  target_link_libraries(${TARGET} PRIVATE ${crtendS.o} ${crtn.o})
endfunction()

function(program NAME SOURCE)
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/${SOURCE})
    add_executable(${NAME} ${CMAKE_SOURCE_DIR}/src/${SOURCE})
    target_link_libraries(${NAME} PRIVATE ${ARGN})
  endif()
endfunction()
