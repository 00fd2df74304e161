// The first line of a #! script, cut as the kernel cuts it: an interpreter path and at most one argument, which keeps
// its inner blanks.
// source: Linux, fs/binfmt_script.c, load_script().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace zs::engine {

/// BINPRM_BUF_SIZE: the kernel sees no more of a file when it decides what it is.
inline constexpr std::size_t kScriptHeadBytes = 256;
/// How often an interpreter may itself be a script before the kernel says ELOOP.
inline constexpr int kScriptDepth = 5;

struct ScriptLine {
  std::string interpreter;
  std::optional<std::string> argument;
};

/// `head`: the first kScriptHeadBytes of the file, or all of a shorter one.
inline bool is_script(std::string_view head) { return head.starts_with("#!"); }
/// nullopt: the kernel would say ENOEXEC (no interpreter named, or its name cut off).
std::optional<ScriptLine> parse_script_line(std::string_view head);

}  // namespace zs::engine
