#include "engine/loader/proc_view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <utility>

#include "base/number.h"
#include "engine/loader/program.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/mappings.h"
#include "engine/memory/proc_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// The next name of a path, without the slashes and "." around it; "" at the end.
std::string_view next_name(std::string_view& path) {
  for (;;) {
    while (path.starts_with('/')) path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    if (name != ".") return name;
  }
}

bool is_number(std::string_view name) { return !name.empty() && name.find_first_not_of("0123456789") == name.npos; }

bool is_pid(std::string_view name, int pid) { return is_number(name) && whole_number<int>(name) == pid; }

/// Takes what names this process from the front of `path`, and the name of a file or folder of it, which it returns; ""
/// if it is of another.
std::string_view name_of_own(std::string_view& path, int pid) {
  if (!path.starts_with('/') || next_name(path) != "proc") return {};
  const std::string_view process = next_name(path);
  const bool thread = process == "thread-self";
  if (process != "self" && !thread && !is_pid(process, pid)) return {};
  const std::string_view name = next_name(path);
  if (name != "task" || thread) return name;
  return is_number(next_name(path)) ? next_name(path) : std::string_view();
}

// clang-format off
constexpr std::array<std::pair<std::string_view, ProcFile>, 7> kFiles{{
    {"exe",     ProcFile::Exe},
    {"maps",    ProcFile::Maps},
    {"smaps",   ProcFile::Smaps},
    {"mem",     ProcFile::Mem},
    {"auxv",    ProcFile::Auxv},
    {"cmdline", ProcFile::Cmdline},
    {"environ", ProcFile::Environ},
}};
// clang-format on

std::string memory(AddressRange range) {
  std::string bytes(range.size(), '\0');
  bytes.resize(read_guest(range.start, bytes.data(), bytes.size()));
  return bytes;
}

/// The argument strings as they are in memory now: a program may rename itself by overwriting them, and when it runs
/// over their end, the text goes on into the environment up to a NUL.
/// source: Linux, fs/proc/base.c, get_mm_cmdline().
std::string command_line(const LoadedProgram& program) {
  const AddressRange arguments = program.arguments, environment = program.environment;
  std::string text = arguments.empty() ? std::string() : memory(arguments);
  if (text.empty() || text.back() == '\0') return text;
  const bool goes_on = environment.start == arguments.end && environment.start <= environment.end;
  text = memory({arguments.start, goes_on ? environment.end : arguments.end});
  return text.substr(0, text.find('\0'));
}

}  // namespace

std::optional<int> own_descriptor_file(std::string_view path, int pid) {
  const std::string_view name = name_of_own(path, pid);
  if (name != "fd" && name != "fdinfo") return std::nullopt;
  const std::string_view number = next_name(path);
  return is_number(number) ? whole_number<int>(number) : std::nullopt;
}

std::optional<ProcFile> own_proc_file(std::string_view path, int pid) {
  const std::string_view name = name_of_own(path, pid);
  if (name.empty() || !next_name(path).empty()) return std::nullopt;
  for (const auto& [file, which] : kFiles) {
    if (file == name) return which;
  }
  return std::nullopt;
}

std::optional<ProcAnswer> proc_path(std::string_view path, int pid, const LoadedProgram& program,
                                    const Mappings& mappings) {
  const auto file = own_proc_file(path, pid);
  if (!file) return std::nullopt;
  const auto content = [](std::string text) {
    return ProcAnswer{.kind = ProcAnswer::Kind::Content, .text = std::move(text)};
  };
  switch (*file) {
    case ProcFile::Exe: return ProcAnswer{.kind = ProcAnswer::Kind::Path, .text = program.exe_path};
    case ProcFile::Maps: return content(proc_maps(mappings));
    case ProcFile::Smaps: return content(proc_smaps(mappings));
    case ProcFile::Mem: return ProcAnswer{.kind = ProcAnswer::Kind::Memory};
    case ProcFile::Auxv: return content(program.auxv);
    case ProcFile::Cmdline: return content(command_line(program));
    case ProcFile::Environ: return content(program.environment.empty() ? std::string() : memory(program.environment));
  }
  return std::nullopt;
}

long open_content(std::string_view content, int flags, const char* name) {
  if ((flags & O_ACCMODE) != O_RDONLY) return -EACCES;
  const long fd = raw_syscall(SYS_memfd_create, name, MFD_CLOEXEC);
  if (is_error(fd)) return fd;
  long result = 0;
  for (std::size_t done = 0; done < content.size() && !is_error(result);) {
    result = raw_syscall(SYS_write, fd, content.data() + done, content.size() - done);
    if (!is_error(result)) done += static_cast<std::size_t>(result);
  }
  // Read-only, and at the number that the program expects: the lowest one, which the memfd has now.
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const long reader = is_error(result) ? result : raw_syscall(SYS_openat, AT_FDCWD, link.c_str(), O_RDONLY | O_CLOEXEC);
  if (is_error(reader)) {
    raw_syscall(SYS_close, fd);
    return reader;
  }
  result = raw_syscall(SYS_dup3, reader, fd, flags & O_CLOEXEC);
  raw_syscall(SYS_close, reader);
  if (is_error(result)) raw_syscall(SYS_close, fd);
  return result;
}

}  // namespace zs::engine
