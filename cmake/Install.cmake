# bin/zeroskid and its short name zs, zeroskid-run and zeroskid-dynamic in libexec/zeroskid, and the pages.
# zeroskid finds those from its own place: beside it in a build folder, ../libexec/zeroskid when installed.

if(TARGET zeroskid)
  install(TARGETS zeroskid RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(CODE "
    file(CREATE_LINK zeroskid \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/zs\" SYMBOLIC)
    message(STATUS \"Link: \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/zs -> zeroskid\")")
endif()
if(TARGET zeroskid-run)
  install(TARGETS zeroskid-run zeroskid-dynamic RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/zeroskid)
endif()
install(DIRECTORY ${zeroskid_pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.gz")
install(FILES ${zeroskid_pages}/completions/zeroskid.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME zeroskid)
install(FILES ${zeroskid_pages}/completions/zeroskid.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME zs)
install(FILES ${zeroskid_pages}/completions/_zeroskid DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${zeroskid_pages}/completions/zeroskid.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES cmake/zeroskid-config.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/zeroskid)
install(DIRECTORY include/zeroskid DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES README.md CHANGELOG.md LICENSE cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
