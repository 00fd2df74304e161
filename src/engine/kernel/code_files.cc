#include "engine/kernel/code_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "engine/kernel/call_table.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Of what is open there; empty where nothing is.
std::string path_of(long fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(static_cast<int>(fd));
  char target[64];
  const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), target, sizeof target);
  return is_error(length) ? std::string() : std::string(target, static_cast<std::size_t>(length));
}

/// Whether an argument is where in the file.
bool says_where(long number) {
  return number == SYS_pread64 || number == SYS_preadv || number == SYS_pwrite64 || number == SYS_pwritev;
}

}  // namespace

void CodeFiles::note_call(long number, const long (&a)[6], long result) {
  note_write_to_own_memory(number, a, result);
  note_shorter_file(number, a, result);
  note_file_opened_for_writing(number, a, result);
}

// The program writes its own memory through /proc/self/mem, also where it may not write otherwise: its code perhaps.
void CodeFiles::note_write_to_own_memory(long number, const long (&a)[6], long written) {
  if (!writes_own_memory_ || written <= 0 || !call_of(number).has(kWritesFile)) return;
  const std::string path = path_of(a[0]);
  if (!path.starts_with("/proc/") || !path.ends_with("/mem")) return;
  const auto end = says_where(number) ? static_cast<std::uint64_t>(a[3] + written)
                                      : static_cast<std::uint64_t>(raw_syscall(SYS_lseek, a[0], 0, SEEK_CUR));
  const std::uint64_t start = end - static_cast<std::uint64_t>(written);
  code_.code_changed(start, end);
  memory_.map.code().open({start, end});
}

// source: Linux, fs/proc/base.c: mem_rw()
std::optional<long> CodeFiles::answer_outside_program(long number, const long (&a)[6]) const {
  if (!own_memory_is_open_ || (call_of(number).traits & (kReadsFile | kWritesFile)) == 0) return std::nullopt;
  if (path_of(a[0]) != "/proc/" + std::to_string(threads_.thread->process->pid) + "/mem") return std::nullopt;
  const long at = says_where(number) ? a[3] : raw_syscall(SYS_lseek, a[0], 0, SEEK_CUR);
  return memory_.map.is_tools(static_cast<std::uint64_t>(at)) ? std::optional<long>(-EIO) : std::nullopt;
}

// The program made a file shorter, or empty, that is mapped as code perhaps: what lies behind its end is SIGBUS from
// now on.
void CodeFiles::note_shorter_file(long number, const long (&a)[6], long result) {
  if (is_error(result)) return;
  struct stat about {};
  long found = -1;
  const Call& call = call_of(number);
  if (call.has(kOpens) && (a[call.path + 1] & O_TRUNC) != 0) found = raw_syscall(SYS_fstat, result, &about);
  switch (number) {
    case SYS_ftruncate: found = raw_syscall(SYS_fstat, a[0], &about); break;
    case SYS_truncate: found = raw_syscall(SYS_stat, a[0], &about); break;
    case SYS_creat: found = raw_syscall(SYS_fstat, result, &about); break;
    default: break;
  }
  if (found == 0) code_of_file_changes(about);
}

// From now on its code is translated with a look at whether it is still the same.
void CodeFiles::note_file_opened_for_writing(long number, const long (&a)[6], long result) {
  if (is_error(result)) return;
  long flags = O_RDONLY;
  if (const Call& call = call_of(number); call.has(kOpens)) flags = a[call.path + 1];
  if (number == SYS_openat2)
    flags = static_cast<long>(read_guest_value<std::uint64_t>(static_cast<std::uint64_t>(a[2])).value_or(0));
  if (number == SYS_creat) flags = O_WRONLY;
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
