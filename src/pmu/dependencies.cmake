compile_alone(${CMAKE_SOURCE_DIR}/src/pmu/ibs_test.cc ${CMAKE_SOURCE_DIR}/src/pmu/lbr_kinds_test.cc)  # registers of their own
