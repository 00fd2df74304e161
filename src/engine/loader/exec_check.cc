#include "engine/loader/exec_check.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "engine/loader/elf.h"
#include "engine/loader/proc_view.h"
#include "engine/loader/program.h"
#include "engine/loader/script.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/layout.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::size_t kPathLimit = 4096;                      // PATH_MAX
constexpr int kExecveCheck = 0x10000;                         // AT_EXECVE_CHECK: asks only
constexpr long kNoSuid = 2, kNoExec = 8;                      // ST_NOSUID, ST_NOEXEC
constexpr std::uint64_t kLargestArguments = 6u << 20;         // three quarters of the default stack
constexpr std::uint64_t kSmallestArguments = 32 * kPageSize;  // ARG_MAX

/// Why an exec stops here: an errno, or a reason to let the kernel do it.
struct Stop {
  long error = 0;
  std::string native;
};

std::uint64_t argument_limit() {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_STACK, nullptr, &limit);
  return std::max(std::min(limit.rlim_cur / 4, kLargestArguments), kSmallestArguments);
}

std::string fd_path(long fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string target_of(const std::string& link) {
  char path[kPageSize];
  const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), path, sizeof path);
  return is_error(length) ? std::string() : std::string(path, static_cast<std::size_t>(length));
}

bool same_file(const std::string& path, const struct stat& status) {
  struct stat other;
  return !is_error(raw_syscall(SYS_newfstatat, AT_FDCWD, path.c_str(), &other, 0)) && other.st_dev == status.st_dev &&
         other.st_ino == status.st_ino;
}

/// Formats that an administrator registered; "register" and "status" are always there.
bool other_formats_are_registered() {
  DIR* directory = opendir("/proc/sys/fs/binfmt_misc");
  if (!directory) return false;
  bool found = false;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    found = found || (name != "." && name != ".." && name != "register" && name != "status");
  }
  closedir(directory);
  return found;
}

/// Whether the kernel would give the new program other rights than ours.
std::string changes_rights(const std::string& path, const struct stat& status, long mount_flags) {
  const bool no_new = raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == 1;
  if (no_new || (mount_flags & kNoSuid)) return "";
  if ((status.st_mode & S_ISUID) && status.st_uid != static_cast<uid_t>(raw_syscall(SYS_geteuid))) {
    return "a set-user-ID program";
  }
  constexpr mode_t kSetGroup = S_ISGID | S_IXGRP;
  if ((status.st_mode & kSetGroup) == kSetGroup && status.st_gid != static_cast<gid_t>(raw_syscall(SYS_getegid))) {
    return "a set-group-ID program";
  }
  char value[64];
  const bool has_capabilities =
      !is_error(raw_syscall(SYS_getxattr, path.c_str(), "security.capability", value, sizeof value));
  if (has_capabilities && raw_syscall(SYS_geteuid) != 0) return "a program with file capabilities";
  return "";
}

/// The checks of do_open_execat(), on a descriptor that was opened with O_PATH.
Stop check_file(long fd, struct stat& status, struct statfs& system) {
  if (const long result = raw_syscall(SYS_fstat, fd, &status); is_error(result)) return {.error = result};
  if (S_ISLNK(status.st_mode)) return {.error = -ELOOP};
  if (!S_ISREG(status.st_mode)) return {.error = -EACCES};
  if (is_error(raw_syscall(SYS_fstatfs, fd, &system))) system.f_flags = 0;
  if (system.f_flags & kNoExec) return {.error = -EACCES};
  long allowed = raw_syscall(SYS_faccessat2, fd, "", X_OK, AT_EMPTY_PATH | AT_EACCESS);
  if (allowed == -ENOSYS || allowed == -EPERM) {
    allowed = raw_syscall(SYS_faccessat, AT_FDCWD, fd_path(fd).c_str(), X_OK);
  }
  return {.error = is_error(allowed) ? -EACCES : 0};
}

/// Opens `path` as an interpreter (of a script, of an ELF program) and checks it.
Stop open_interpreter(const std::string& path, OwnedFd& out) {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, path.c_str(), O_PATH | O_CLOEXEC);
  if (is_error(fd)) return {.error = fd};
  out = OwnedFd(static_cast<int>(fd));
  struct stat status;
  struct statfs system;
  return check_file(fd, status, system);
}

/// What search_binary_handler() would find in the file behind `fd` (O_PATH), scripts followed.
Stop check_format(OwnedFd fd, bool name_is_lost) {
  for (int depth = 0;; ++depth) {
    const std::string path = fd_path(fd.get());
    struct stat status;
    struct statfs system;
    if (Stop stop = check_file(fd.get(), status, system); stop.error != 0) return stop;
    const long opened = raw_syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
    if (is_error(opened)) return {.native = "a program that may be executed but not read"};
    const OwnedFd reader(static_cast<int>(opened));
    std::array<char, kScriptHeadBytes> bytes{};
    const long got = raw_syscall(SYS_pread64, reader.get(), bytes.data(), bytes.size(), 0L);
    if (is_error(got)) return {.error = got};
    const std::string_view head(bytes.data(), static_cast<std::size_t>(got));

    if (is_script(head)) {
      const auto line = parse_script_line(head);
      if (!line) return {.error = -ENOEXEC};
      if (name_is_lost) return {.error = -ENOENT};
      if (depth == kScriptDepth) return {.error = -ELOOP};
      OwnedFd interpreter;
      if (Stop stop = open_interpreter(line->interpreter, interpreter); stop.error != 0) return stop;
      fd = std::move(interpreter);
      continue;
    }
    if (!head.starts_with(ELFMAG)) {
      if (other_formats_are_registered()) return {.native = "a format registered with binfmt_misc"};
      return {.error = -ENOEXEC};
    }
    if (std::string reason = changes_rights(path, status, system.f_flags); !reason.empty()) {
      return {.native = std::move(reason)};
    }
    const auto elf = parse_elf_file(reader.get(), "it");
    if (!elf) return {.native = elf.error().message};
    if (!elf->interpreter.empty()) {
      OwnedFd interpreter;
      if (Stop stop = open_interpreter(elf->interpreter, interpreter); stop.error != 0) return stop;
    }
    return {};
  }
}

}  // namespace

ExecDecision check_exec(const ExecRequest& request) {
  ExecDecision decision;
  const auto fail = [&](long error) {
    decision.kind = ExecDecision::Kind::Fail;
    decision.error = error;
    return decision;
  };
  const auto native = [&](std::string reason) {
    decision.kind = ExecDecision::Kind::Native;
    decision.reason = std::move(reason);
    return decision;
  };
  if (request.flags & kExecveCheck) return native("only a question whether the program may be executed");
  if (request.flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) return fail(-EINVAL);

  std::string path;
  if (const long result = read_guest_string(request.path, kPathLimit, path); result < 0) return fail(result);
  const bool empty_path = (request.flags & AT_EMPTY_PATH) != 0;
  if (path.empty() && !empty_path) return fail(-ENOENT);
  const bool by_descriptor = request.dirfd != AT_FDCWD && !path.starts_with('/');
  const bool own = own_proc_file(path, request.pid) == ProcFile::Exe && !request.own_exe.empty();
  const std::string opened_path = own ? request.own_exe : path;

  long fd;
  if (path.empty()) {
    fd = request.dirfd == AT_FDCWD ? raw_syscall(SYS_openat, AT_FDCWD, ".", O_PATH | O_CLOEXEC)
                                   : raw_syscall(SYS_fcntl, request.dirfd, F_DUPFD_CLOEXEC, 0);
  } else {
    const int no_follow = request.flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0;
    fd = raw_syscall(SYS_openat, request.dirfd, opened_path.c_str(), O_PATH | O_CLOEXEC | no_follow);
  }
  if (is_error(fd)) return fail(fd);
  OwnedFd file(static_cast<int>(fd));
  struct stat status;
  struct statfs system;
  if (const Stop stop = check_file(fd, status, system); stop.error != 0) return fail(stop.error);

  const std::uint64_t limit = argument_limit();
  if (const long result = read_guest_strings(request.argv, limit, decision.argv); result < 0) return fail(result);
  if (const long result = read_guest_strings(request.envp, limit, decision.envp); result < 0) return fail(result);
  std::uint64_t bytes = path.size() + 1;
  for (const auto* strings : {&decision.argv, &decision.envp}) {
    for (const std::string& each : *strings) bytes += each.size() + 1 + sizeof(std::uint64_t);
  }
  if (bytes > limit) return fail(-E2BIG);

  decision.exec_name = path;
  if (by_descriptor) {
    decision.exec_name = "/dev/fd/" + std::to_string(request.dirfd);
    if (!path.empty()) decision.exec_name += "/" + path;
  }
  const bool close_on_exec = by_descriptor && (raw_syscall(SYS_fcntl, request.dirfd, F_GETFD) & FD_CLOEXEC) != 0;
  decision.resolved_path = target_of(fd_path(fd));
  if (decision.resolved_path.empty()) {
    decision.resolved_path = path;
    return native("there is no /proc where it is executed");
  }
  if (own) decision.native_path = decision.resolved_path;  // the kernel would find the engine there

  // The next process shares our working directory but not our descriptors' meaning.
  const bool through_proc = path.starts_with("/proc/") || path.starts_with("/dev/fd/");
  decision.load_path = by_descriptor || own || through_proc ? decision.resolved_path : path;
  if (!same_file(decision.load_path, status)) return native("a file without a name");

  const Stop stop = check_format(std::move(file), by_descriptor && close_on_exec);
  if (stop.error != 0) return fail(stop.error);
  if (!stop.native.empty()) return native(stop.native);
  decision.kind = ExecDecision::Kind::Follow;
  return decision;
}

}  // namespace zs::engine
