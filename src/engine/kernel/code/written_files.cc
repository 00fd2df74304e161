#include "engine/kernel/code/written_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <cstring>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Calls `visit` with each open descriptor of this process until it returns true. returns whether it did
template <typename Visitor>
bool any_descriptor(const Visitor& visit) {
  const long folder = raw_syscall(SYS_open, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (is_error(folder)) return true;  // not known
  bool found = false;
  alignas(8) char entries[4096];
  for (long size; !found && (size = raw_syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < size && !found;) {
      constexpr int kSizeOffset = 16, kNameOffset = 19;  // struct linux_dirent64: ino, off, reclen, type, name
      std::uint16_t entry_size;
      std::memcpy(&entry_size, entries + at + kSizeOffset, sizeof entry_size);
      const char* const name = entries + at + kNameOffset;
      if (*name != '.') found = visit(std::strtol(name, nullptr, 10));
      at += entry_size;
    }
  }
  raw_syscall(SYS_close, folder);
  return found;
}

}  // namespace

WrittenFiles::Key WrittenFiles::key_of(const struct stat& file) {
  return {major(file.st_dev), minor(file.st_dev), file.st_ino};
}

bool WrittenFiles::is_mapped_writable(const Key& key) const {
  bool is = false;
  mappings_.for_each([&](const GuestMapping& mapping) {
    if (!mapping.file || !mapping.shared()) return;
    is = is || key == Key{mapping.file->device_major, mapping.file->device_minor, mapping.file->inode};
  });
  return is;
}

bool WrittenFiles::may_be_written(const MappedFile& file) {
  if (files_.empty()) return false;
  const auto found = files_.find({file.device_major, file.device_minor, file.inode});
  if (found == files_.end()) return false;
  const bool can = is_mapped_writable(*found) || any_descriptor([&](long fd) {
                     struct stat about {};
                     return raw_syscall(SYS_fstat, fd, &about) == 0 && key_of(about) == *found &&
                            (raw_syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
                   });
  if (!can) files_.erase(found);  // until it is opened again
  return can;
}

}  // namespace zs::engine
