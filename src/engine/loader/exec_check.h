// Decides what an execve or execveat of the program would do, before it is done: fail (with the kernel's errno), start
// a program that we can follow, or something that is better left to the kernel (set-user-ID, 32-bit, unreadable,
// binfmt_misc, malformed files whose errno only the kernel knows).
// Not checked: ETXTBSY (the file is open for writing elsewhere).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zs::engine {

struct ExecRequest {
  int dirfd = -100;        // AT_FDCWD
  std::uint64_t path = 0;  // pointers in the program's memory
  std::uint64_t argv = 0, envp = 0;
  int flags = 0;        // AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW
  int pid = 0;          // of the program, to recognise its own /proc/PID/exe,
  std::string own_exe;  // which is this file and not the tool
};

struct ExecDecision {
  enum class Kind : std::uint8_t {
    Fail,    // return `error` to the program
    Follow,  // run `load_path` under the tool
    Native,  // pass the call on; if it succeeds the new program is not profiled: `reason` says why
  };
  Kind kind = Kind::Fail;
  long error = 0;             // -errno
  std::string exec_name;      // the kernel's name for it: what was asked, or "/dev/fd/N[/path]"
  std::string load_path;      // where the file can be opened by another process with the same working directory
  std::string resolved_path;  // absolute, symbolic links followed, for messages and COMM
  std::string native_path;    // what the kernel is to execute where the program is not followed; "": what was asked
  std::vector<std::string> argv, envp;
  std::string reason;  // for a notice; no newline
};

ExecDecision check_exec(const ExecRequest& request);

}  // namespace zs::engine
