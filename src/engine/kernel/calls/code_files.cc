#include "engine/kernel/calls/code_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "engine/kernel/calls/call_table.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Where in the file a call begins, or the next one does.
std::uint64_t position_of(const CallArguments& made) {
  const int position = call_of(made.number).position;
  return position >= 0 ? made.u(position) : static_cast<std::uint64_t>(raw_syscall(SYS_lseek, made.a[0], 0, SEEK_CUR));
}

}  // namespace

void CodeFiles::note_call(const CallArguments& made, long result) {
  note_write_to_own_memory(made, result);
  note_shorter_file(made, result);
  note_file_opened_for_writing(made, result);
}

// The program writes its own memory through /proc/self/mem, also where it may not write otherwise: its code perhaps.
void CodeFiles::note_write_to_own_memory(const CallArguments& made, long written) {
  if (!writes_own_memory_ || written <= 0 || !call_of(made.number).has(kWritesFile)) return;
  const std::string path = path_of_descriptor(made.i32(0));
  if (!path.starts_with("/proc/") || !path.ends_with("/mem")) return;
  const auto bytes = static_cast<std::uint64_t>(written);
  const std::uint64_t start = position_of(made) - (call_of(made.number).position >= 0 ? 0 : bytes), end = start + bytes;
  code_.code_changed(start, end);
  memory_.map.code().open({start, end});
}

// source: Linux, fs/proc/base.c: mem_rw()
std::optional<long> CodeFiles::answer_outside_program(const CallArguments& made) const {
  if (!own_memory_is_open_ || (call_of(made.number).traits & (kReadsFile | kWritesFile)) == 0) return std::nullopt;
  if (path_of_descriptor(made.i32(0)) != "/proc/" + std::to_string(threads_.thread->process->pid) + "/mem")
    return std::nullopt;
  return memory_.map.is_tools(position_of(made)) ? std::optional<long>(-EIO) : std::nullopt;
}

// The program made a file shorter, or empty, that is mapped as code perhaps: what lies behind its end is SIGBUS from
// now on.
void CodeFiles::note_shorter_file(const CallArguments& made, long result) {
  if (is_error(result)) return;
  struct stat about {};
  long found = -1;
  const Call& call = call_of(made.number);
  if (call.has(kOpens) && (made.a[call.path + 1] & O_TRUNC) != 0) found = raw_syscall(SYS_fstat, result, &about);
  switch (made.number) {
    case SYS_ftruncate: found = raw_syscall(SYS_fstat, made.a[0], &about); break;
    case SYS_truncate: found = raw_syscall(SYS_stat, made.a[0], &about); break;
    case SYS_creat: found = raw_syscall(SYS_fstat, result, &about); break;
    default: break;
  }
  if (found == 0) code_of_file_changes(about);
}

// From now on its code is translated with a look at whether it is still the same.
void CodeFiles::note_file_opened_for_writing(const CallArguments& made, long result) {
  if (is_error(result)) return;
  long flags = O_RDONLY;
  if (const Call& call = call_of(made.number); call.has(kOpens)) flags = made.a[call.path + 1];
  if (made.number == SYS_openat2) flags = static_cast<long>(read_guest_value<std::uint64_t>(made.u(2)).value_or(0));
  if (made.number == SYS_creat) flags = O_WRONLY;
  struct stat about {};
  if ((flags & O_ACCMODE) == O_RDONLY || raw_syscall(SYS_fstat, result, &about) != 0 || !S_ISREG(about.st_mode)) return;
  written_.opened(about);
  code_of_file_changes(about);
}

void CodeFiles::code_of_file_changes(const struct stat& file) {
  std::vector<AddressRange> code;
  memory_.map.mappings().for_each([&](const GuestMapping& mapping) {
    if ((mapping.prot & PROT_EXEC) == 0 || !mapping.file || mapping.file->inode != file.st_ino) return;
    if (mapping.file->device_major == major(file.st_dev) && mapping.file->device_minor == minor(file.st_dev))
      code.push_back(mapping.range());
  });
  for (const AddressRange& range : code) code_.code_changed(range.start, range.end);
}

}  // namespace zs::engine
