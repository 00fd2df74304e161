# Writes commit.cc: which commit is built. Run at every build (cmake -P), and changes nothing unless the commit changed.
# SOURCE  the project's folder; OUTPUT  the file
# Asked of git where SOURCE is a work tree of its own, else of commit.txt, which git archive fills in.
set(commit "")
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
                OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
file(REAL_PATH ${SOURCE} source)
if(NOT failed AND top STREQUAL source)
  execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git --no-optional-locks -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
else()
  file(STRINGS ${SOURCE}/cmake/commit.txt commit LIMIT_COUNT 1)
  set(changes "")
endif()
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit "")
endif()
string(SUBSTRING "${commit}" 0 12 commit)
if(commit AND changes)
  string(APPEND commit "+")
endif()
file(WRITE ${OUTPUT}.new "#include \"cli/version.h\"\n\nnamespace zs::cli {\n\nconst char* const kCommit = \"${commit}\";\n\n}  // namespace zs::cli\n")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
