# What cpack makes the Debian package of; tools/package calls it. It holds what make install puts in place.
set(CPACK_PACKAGE_NAME zeroskid)
set(CPACK_PACKAGE_CONTACT "the authors of zeroskid <zeroskid@localhost>" CACHE STRING "Maintainer of the Debian package")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "precise event-based sampling, with or without a PMU")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Names the exact instruction that an event happened at, with its registers, on
any x86-64 machine: also in virtual machines and containers that have no
performance-monitoring unit. Runs the program by binary translation and feeds
what retires to a software PMU that is exact to the register. Writes perf.data.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS linux-perf)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/DebianFiles.cmake)
set(CPACK_GENERATOR DEB)
include(CPack)
