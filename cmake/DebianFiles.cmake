# What the Debian package alone holds: its changelog, and which remarks of lintian are meant so. cpack runs this before it
# packs.
set(usr "${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}")
string(TIMESTAMP when "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH
file(WRITE "${usr}/share/doc/zeroskid/changelog"
"zeroskid (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What has changed stands in CHANGELOG.md, beside this file.

 -- ${CPACK_PACKAGE_CONTACT}  ${when}
")
execute_process(COMMAND gzip -9n "${usr}/share/doc/zeroskid/changelog" COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${usr}/share/lintian/overrides/zeroskid"
"# The project has no mail address; who distributes the package gives one (-DCPACK_PACKAGE_CONTACT).
zeroskid: bogus-mail-host *
zeroskid: bogus-mail-host-in-debian-changelog *
# The programs hold their libraries: loading six of them is a hundred page faults in each process of a program.
zeroskid: embedded-library *
# They lie where no program that they show does, and those that start often need no dynamic loader.
zeroskid: hardening-no-pie *
zeroskid: statically-linked-binary *
")
